import datetime as dt

import msgspec
import pytest

from levelfield.images import base_check, debian
from levelfield.record.bases import BaseLock
from tests.servers import Sources


@pytest.fixture
def lock(monkeypatch: pytest.MonkeyPatch) -> BaseLock:
    """A lock of three packages, made ten days ago."""
    made = dt.datetime.now(dt.UTC) - dt.timedelta(days=10, hours=1)
    own = debian.read_lock()
    found = msgspec.structs.replace(own, packages=own.packages[:3], epoch=int(made.timestamp()))
    monkeypatch.setattr(debian, "read_lock", lambda _release: found)
    return found


def test_what_no_mirror_has_any_more_is_named(sources: Sources, lock: BaseLock) -> None:
    first, second, third = lock.packages
    for server, package in ((sources.chosen, first), (sources.public, second)):
        server.files[f"/{package.archive}/{package.path}"] = bytes(package.size_bytes)
    found, _ = base_check.check()
    assert (found.archived, found.unknown, found.age_days) == ((third.title,), (), 10)
    assert sources.snapshot.asked == []


def test_a_mirror_that_does_not_answer_has_nothing_lost(
    sources: Sources, lock: BaseLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEVELFIELD_DEBIAN_MIRRORS", "http://mirror.invalid/debian http://mirror.invalid/security")
    first, *others = lock.packages
    sources.public.files[f"/{first.archive}/{first.path}"] = bytes(first.size_bytes)
    found, _ = base_check.check()
    assert (found.archived, found.unknown) == ((), tuple(package.title for package in others))
