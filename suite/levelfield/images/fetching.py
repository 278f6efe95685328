"""Files over HTTP, each from the first of several addresses that still has it; its SHA-256 alone says which it is."""

import contextlib
import hashlib
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import requests
import urllib3.exceptions
from requests.adapters import HTTPAdapter
from requests.exceptions import ProxyError, RequestException, SSLError, Timeout

from levelfield.errors import LevelfieldError
from levelfield.paths import disk_space

_THREADS = 8
_TIMEOUT_S = (10.0, 30.0)
_CHUNK_BYTES = 1 << 17
_REPORT_S = 10
_STORES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
"""Certificates of the system, to which a company adds its own: of Debian, Ubuntu and Arch; of Fedora."""


class Wanted(msgspec.Struct, frozen=True):
    title: str
    """For people: `libssl3 3.0.15-1`."""
    path: Path
    """Where it goes; it is there as a whole, or not at all."""
    sha256: str
    size_bytes: int
    addresses: tuple[str, ...]
    """Where it may be, the best first."""


class Reason(StrEnum):
    """Why an address did not give a file; what its reader can mend comes first."""

    PROXY = "the proxy does not let it through"
    CERTIFICATE = "its certificate is not trusted here"
    NAME = "the name does not resolve"
    SLOW = "no answer in time"
    CLOSED = "the connection is refused or broken off"
    REFUSED = "the server refuses it"
    PAGE = "a page in place of the file"
    OTHER = "another file than the locked one"
    GONE = "no such file"


_AGAIN = "Check the network, and run the command again: what was fetched is kept."
_FIXES = {
    Reason.PROXY: "See http_proxy, https_proxy and no_proxy in the environment.",
    Reason.CERTIFICATE: "Let SSL_CERT_FILE or REQUESTS_CA_BUNDLE name the certificates of your network.",
    Reason.NAME: "Check the network and its name server; behind a proxy, set http_proxy and https_proxy.",
    Reason.SLOW: _AGAIN,
    Reason.CLOSED: _AGAIN,
    Reason.REFUSED: "Try later, or name another mirror.",
    Reason.PAGE: "Log in to your network, or name another mirror.",
    Reason.OTHER: "Nothing was built. Name another mirror.",
}


class _FailedError(Exception):
    def __init__(self, reason: Reason, *, lasting: bool = False, again: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lasting = lasting
        """Whether other files will fail at this host too."""
        self.again = again
        """Whether a second attempt may do better."""


def session() -> requests.Session:
    """Return a session with the environment's proxies and certificates, or those of the system."""
    opened = requests.Session()
    # What requests' own variables name goes before this, which heeds SSL_CERT_FILE.
    stores = (ssl.get_default_verify_paths().cafile, *_STORES)
    opened.verify = next((store for store in stores if store and Path(store).is_file()), True)
    opened.headers["Accept-Encoding"] = "identity"
    for scheme in ("http://", "https://"):
        opened.mount(scheme, HTTPAdapter(pool_maxsize=_THREADS))
    return opened


def host(address: str) -> str:
    """Return the host of an address, without a password that may stand before it."""
    return urlsplit(address).netloc.rpartition("@")[2]


def fetch(
    files: Iterable[Wanted], *, lost: str, progress: Callable[[str], None], timeout_s: tuple[float, float] = _TIMEOUT_S
) -> None:
    """Fetch files, several at a time; what was begun earlier is continued.

    Raises LevelfieldError: some cannot be had: it says which, and why. The others are there.
    """
    wanted = tuple(files)
    total_bytes = sum(file.size_bytes for file in wanted)
    with _written(), session() as opened, ThreadPoolExecutor(_THREADS) as threads:
        fetcher = _Fetcher(opened, timeout_s)
        running = {threads.submit(fetcher.fetch, file): file for file in wanted}
        try:
            while wait(running, timeout=_REPORT_S).not_done:
                progress(f"fetched {fetcher.received_bytes / 1e6:.0f} of {total_bytes / 1e6:.0f} MB")
            failed = {file.title: reasons for future, file in running.items() if (reasons := future.result())}
        finally:  # an interrupt does not wait for what has not begun
            fetcher.stopped.set()
            threads.shutdown(wait=False, cancel_futures=True)
    if failed:
        raise _failure(failed, lost)


def problem(opened: requests.Session, address: str, size_bytes: int, timeout_s: float) -> Reason | None:
    """Ask for a file without fetching it; return why it would not come, or None."""
    try:
        with _translated(lasting=True), opened.head(address, timeout=timeout_s, allow_redirects=True) as answer:
            _beginning(answer, 0, size_bytes)
    except _FailedError as error:
        return error.reason
    return None


@contextlib.contextmanager
def _written() -> Iterator[None]:
    try:
        with disk_space():
            yield
    except OSError as error:
        raise LevelfieldError(
            f"{error.filename or 'The cache'} cannot be written: {error.strerror}.",
            fix="Set LEVELFIELD_CACHE to a folder that you can write to.",
        ) from error


class _Fetcher:
    def __init__(self, opened: requests.Session, timeout_s: tuple[float, float]) -> None:
        self.received_bytes = 0
        self.stopped = threading.Event()
        self._session = opened
        self._timeout_s = timeout_s
        self._given_up: dict[str, Reason] = {}
        """Hosts at which other files would fail too."""

    def fetch(self, file: Wanted) -> dict[str, Reason]:
        """Fetch a file; return nothing, or why each host did not give it."""
        reasons: dict[str, Reason] = {}
        for address in file.addresses:
            if self.stopped.is_set():
                break
            if (reason := self._given_up.get(host(address))) is None:
                reason = self._attempt(file, address)
            if reason is None:
                return {}
            reasons[host(address)] = min(reason, reasons.get(host(address), reason), key=list(Reason).index)
        return reasons

    def _attempt(self, file: Wanted, address: str) -> Reason | None:
        for last in (False, True):
            try:
                self._fetch(file, address)
            except _FailedError as error:
                if error.again and not last:
                    continue
                if error.lasting:
                    self._given_up[host(address)] = error.reason
                return error.reason
            break
        return None

    def _fetch(self, file: Wanted, address: str) -> None:
        partial = file.path.with_name(f".{file.path.name}.partial")
        begun = min(partial.stat().st_size, file.size_bytes - 1) if partial.is_file() else 0
        headers = {"Range": f"bytes={begun}-"} if begun else {}
        with _translated(lasting=True):
            answer = self._session.get(address, headers=headers, stream=True, timeout=self._timeout_s)
        with answer, _translated(lasting=False):
            at = _beginning(answer, begun, file.size_bytes)
            with partial.open("r+b" if at else "wb") as target:
                target.truncate(at)
                target.seek(at)
                for chunk in answer.iter_content(_CHUNK_BYTES):
                    if self.stopped.is_set():
                        raise _FailedError(Reason.SLOW)
                    at += len(chunk)
                    if at > file.size_bytes:
                        break
                    target.write(chunk)
                    self.received_bytes += len(chunk)
        if at < file.size_bytes:
            raise _FailedError(Reason.CLOSED, again=True)
        with partial.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if at > file.size_bytes or found != file.sha256:
            partial.unlink()
            # Where its beginning came from elsewhere, this host may have the right file.
            raise _FailedError(Reason.OTHER, again=begun > 0)
        partial.replace(file.path)


def _beginning(answer: requests.Response, begun: int, size_bytes: int) -> int:
    """Return where in a file the content of an answer begins."""
    code = answer.status_code
    if code in {404, 410}:
        raise _FailedError(Reason.GONE)
    if code == 407:
        raise _FailedError(Reason.PROXY, lasting=True)
    if code not in {200, 206}:
        raise _FailedError(Reason.REFUSED, again=code in {408, 429} or code >= 500)
    if answer.headers.get("Content-Type", "").startswith("text/html"):
        raise _FailedError(Reason.PAGE)
    at = begun if code == 206 else 0
    length = answer.headers.get("Content-Length", "")
    if length.isdigit() and int(length) != size_bytes - at:
        raise _FailedError(Reason.OTHER)
    return at


@contextlib.contextmanager
def _translated(*, lasting: bool) -> Iterator[None]:
    try:
        yield
    except RequestException as error:
        reason = reason_of(error)
        raise _FailedError(reason, lasting=lasting, again=reason in {Reason.SLOW, Reason.CLOSED}) from error


def reason_of(error: RequestException) -> Reason:
    cause = error.args[0] if error.args else None
    if isinstance(error, ProxyError):
        return Reason.PROXY
    if isinstance(error, SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(error):
        return Reason.CERTIFICATE
    if isinstance(error, Timeout) or isinstance(cause, urllib3.exceptions.ReadTimeoutError):
        return Reason.SLOW
    if isinstance(getattr(cause, "reason", None), urllib3.exceptions.NameResolutionError):
        return Reason.NAME
    return Reason.CLOSED


def _failure(failed: dict[str, dict[str, Reason]], lost: str) -> LevelfieldError:
    names = ", ".join(list(failed)[:3]) + (f" and {len(failed) - 3} more" if len(failed) > 3 else "")
    hosts: dict[Reason, set[str]] = {}
    for reasons in failed.values():
        for each, reason in reasons.items():
            hosts.setdefault(reason, set()).add(each)
    found = sorted(hosts, key=list(Reason).index)
    said = "; ".join(f"{reason} at {', '.join(sorted(hosts[reason]))}" for reason in found)
    return LevelfieldError(f"{names} cannot be fetched: {said}.", fix=_FIXES.get(found[0], lost))
