"""Files over HTTP, each from the first of several addresses that still has it; its SHA-256 alone says which it is."""

import contextlib
import hashlib
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import requests
from requests.adapters import HTTPAdapter
from requests.exceptions import RequestException
from urllib3 import Retry

from levelfield.errors import LevelfieldError
from levelfield.machine.engine import short
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
    fix: str,
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
        raise _failure(failed, fix)


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
        self._given_up: dict[str, str] = {}
        """Hosts that do not answer, and why: they are not asked for other files."""

    def fetch(self, file: Wanted) -> dict[str, str]:
        """Fetch a file; return nothing, or why each host did not give it."""
        reasons: dict[str, str] = {}
        for address in file.addresses:
            if self.stopped.is_set():
                break
            at = host(address)
            reasons[at] = self._given_up.get(at) or self._attempt(file, address)
            if not reasons[at]:
                return {}
        return reasons

    def _attempt(self, file: Wanted, address: str) -> str:
        """Fetch a file from an address; return why it does not come, or an empty text."""
        try:
            answer = self._session.get(address, stream=True, timeout=self._timeout_s)
        except RequestException as error:
            self._given_up[host(address)] = short(error)
            return short(error)
        partial = file.path.with_name(f".{file.path.name}.partial")
        try:
            with answer:
                answer.raise_for_status()
                return self._save(answer, file, partial)
        except RequestException as error:
            return f"status {answer.status_code}" if not answer.ok else short(error)
        finally:
            partial.unlink(missing_ok=True)

    def _save(self, answer: requests.Response, file: Wanted, partial: Path) -> str:
        found, size_bytes = hashlib.sha256(), 0
        with partial.open("wb") as target:
            for chunk in answer.iter_content(_CHUNK_BYTES):
                size_bytes += len(chunk)
                if self.stopped.is_set() or size_bytes > file.size_bytes:
                    break
                found.update(chunk)
                target.write(chunk)
                self.received_bytes += len(chunk)
        if found.hexdigest() != file.sha256:
            return "another file than the locked one"
        partial.replace(file.path)
        return ""


def _failure(failed: dict[str, dict[str, str]], fix: str) -> LevelfieldError:
    names = ", ".join(list(failed)[:3]) + (f" and {len(failed) - 3} more" if len(failed) > 3 else "")
    said = {f"{why} ({at})" for reasons in failed.values() for at, why in reasons.items()}
    return LevelfieldError(f"{names} cannot be fetched: {'; '.join(sorted(said))}.", fix=fix)
