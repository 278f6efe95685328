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
from requests.adapters import HTTPAdapter
from requests.exceptions import ProxyError, RequestException, SSLError
from urllib3 import Retry

from levelfield.errors import LevelfieldError
from levelfield.paths import disk_space

_THREADS = 8
_TIMEOUT_S = (10.0, 30.0)
_CHUNK_BYTES = 1 << 17
_REPORT_S = 10
_RETRIES = Retry(total=1, status_forcelist=(408, 429, 500, 502, 503, 504), raise_on_status=False)
_STORES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
"""Certificates of the system, to which a company adds its own: of Debian, Ubuntu and Arch; of Fedora."""


class Wanted(msgspec.Struct, frozen=True):
    """A file to be fetched."""

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
    UNREACHABLE = "no answer"
    REFUSED = "the server refuses it"
    OTHER = "another file than the locked one"
    GONE = "no such file"


_FIXES = {
    Reason.PROXY: "See http_proxy, https_proxy and no_proxy in the environment.",
    Reason.CERTIFICATE: "Let SSL_CERT_FILE or REQUESTS_CA_BUNDLE name the certificates of your network.",
    Reason.UNREACHABLE: "Check the network, and run the command again: what was fetched is kept.",
    Reason.REFUSED: "Try later, or name another mirror.",
    Reason.OTHER: "Nothing was built. Name another mirror.",
}


def session() -> requests.Session:
    """Return a session with the environment's proxies and certificates, or those of the system."""
    opened = requests.Session()
    # What requests' own variables name goes before this, which heeds SSL_CERT_FILE.
    stores = (ssl.get_default_verify_paths().cafile, *_STORES)
    opened.verify = next((store for store in stores if store and Path(store).is_file()), True)
    opened.headers["Accept-Encoding"] = "identity"
    for scheme in ("http://", "https://"):
        opened.mount(scheme, HTTPAdapter(pool_maxsize=_THREADS, max_retries=_RETRIES))
    return opened


def host(address: str) -> str:
    """Return the host of an address, without a password that may stand before it."""
    return urlsplit(address).netloc.rpartition("@")[2]


def fetch(
    files: Iterable[Wanted],
    *,
    lost: str,
    progress: Callable[[str], None],
    timeout_s: tuple[float, float] = _TIMEOUT_S,
) -> None:
    """Fetch files, several at a time.

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
            at = host(address)
            reason = self._given_up.get(at) or self._attempt(file, address)
            if reason is None:
                return {}
            reasons[at] = min(reason, reasons.get(at, reason), key=list(Reason).index)
        return reasons

    def _attempt(self, file: Wanted, address: str) -> Reason | None:
        try:
            answer = self._session.get(address, stream=True, timeout=self._timeout_s)
        except RequestException as error:
            self._given_up[host(address)] = _reason_of(error)
            return _reason_of(error)
        partial = file.path.with_name(f".{file.path.name}.partial")
        try:
            with answer:
                return _refusal(answer) or self._save(answer, file, partial)
        except RequestException as error:
            return _reason_of(error)
        finally:
            partial.unlink(missing_ok=True)

    def _save(self, answer: requests.Response, file: Wanted, partial: Path) -> Reason | None:
        found, size_bytes = hashlib.sha256(), 0
        with partial.open("wb") as target:
            for chunk in answer.iter_content(_CHUNK_BYTES):
                size_bytes += len(chunk)
                if self.stopped.is_set() or size_bytes > file.size_bytes:
                    break
                found.update(chunk)
                target.write(chunk)
                self.received_bytes += len(chunk)
        if found.hexdigest() != file.sha256 or size_bytes != file.size_bytes:
            return Reason.OTHER
        partial.replace(file.path)
        return None


def _refusal(answer: requests.Response) -> Reason | None:
    """Return why an answer holds no file, by its status."""
    if answer.ok:
        return None
    return {404: Reason.GONE, 407: Reason.PROXY, 410: Reason.GONE}.get(answer.status_code, Reason.REFUSED)


def _reason_of(error: RequestException) -> Reason:
    if isinstance(error, ProxyError):
        return Reason.PROXY
    if isinstance(error, SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(error):
        return Reason.CERTIFICATE
    return Reason.UNREACHABLE


def _failure(failed: dict[str, dict[str, Reason]], lost: str) -> LevelfieldError:
    names = ", ".join(list(failed)[:3]) + (f" and {len(failed) - 3} more" if len(failed) > 3 else "")
    hosts: dict[Reason, set[str]] = {}
    for reasons in failed.values():
        for each, reason in reasons.items():
            hosts.setdefault(reason, set()).add(each)
    found = sorted(hosts, key=list(Reason).index)
    said = "; ".join(f"{reason} at {', '.join(sorted(hosts[reason]))}" for reason in found)
    return LevelfieldError(f"{names} cannot be fetched: {said}.", fix=_FIXES.get(found[0], lost))
