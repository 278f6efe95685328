"""Which packages of the bases mirrors still have, and how old the locks are: `levelfield images lock --check`."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor

import msgspec
import requests

from levelfield.images import debian, debian_archives, fetching
from levelfield.images.wheels import Progress, silent
from levelfield.record.bases import BaseLock, Package

_THREADS = 8
_TIMEOUT_S = 10.0
_LOST = {fetching.Reason.GONE, fetching.Reason.OTHER, fetching.Reason.PAGE}


class CheckedBase(msgspec.Struct, frozen=True):
    """What was found of the lock of a release's bases."""

    release: str
    architecture: str
    age_days: int
    archived: tuple[str, ...]
    """Packages with versions that no mirror has any more: Debian's archive of all files keeps them."""
    unknown: tuple[str, ...]
    """Those of which no mirror said whether it has them."""


def check(*, progress: Progress = silent) -> tuple[CheckedBase, ...]:
    """Ask mirrors for every package of every base; nothing is fetched."""
    return tuple(_checked(debian.read_lock(release), progress) for release in dict.fromkeys(debian.BASES.values()))


def _checked(lock: BaseLock, progress: Progress) -> CheckedBase:
    progress(f"asking mirrors for the {len(lock.packages)} packages of Debian {lock.release}")
    with fetching.session() as session, ThreadPoolExecutor(_THREADS) as threads:
        asking = _Asking(session)
        found = tuple(zip(lock.packages, threads.map(asking.has, lock.packages), strict=True))
    return CheckedBase(
        release=lock.release,
        architecture=lock.architecture,
        age_days=(dt.datetime.now(dt.UTC) - dt.datetime.fromtimestamp(lock.epoch, dt.UTC)).days,
        archived=tuple(package.title for package, has in found if has is False),
        unknown=tuple(package.title for package, has in found if has is None),
    )


class _Asking:
    def __init__(self, session: requests.Session) -> None:
        self._session = session
        self._given_up: set[str] = set()
        """Hosts that do not answer."""

    def has(self, package: Package) -> bool | None:
        """Return whether a mirror has a package; None: some do not say."""
        known: bool | None = False
        for address in debian_archives.at_mirrors(package):
            if fetching.host(address) in self._given_up:
                known = None
                continue
            problem = fetching.problem(self._session, address, package.size_bytes, _TIMEOUT_S)
            if problem is None:
                return True
            if problem not in _LOST:
                self._given_up.add(fetching.host(address))
                known = None
        return known
