"""The answer of `levelfield explain --json`."""

from collections.abc import Mapping, Sequence

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.run import profile_tables
from levelfield.run.explain import Explained


class Profile(msgspec.Struct, frozen=True):
    """The profile of one result."""

    result: str
    version: str
    image: str
    launcher: str
    profiler: str
    note: str
    account: profile_tables.Account
    operators: tuple[profile_tables.Row, ...]


class Failure(msgspec.Struct, frozen=True):
    """A result that could not be profiled, and why."""

    result: str
    message: str


class Profiles(msgspec.Struct, frozen=True):
    """All profiles that were asked for."""

    results: tuple[Profile, ...]
    failed: tuple[Failure, ...]


def profiles(found: Sequence[Explained], failed: Mapping[str, LevelfieldError], *, by_layer: bool) -> Profiles:
    """Return profiles as they are printed."""
    return Profiles(
        results=tuple(
            Profile(
                result=each.id,
                version=each.version,
                image=each.image.tag,
                launcher=each.image.launcher,
                profiler=each.profiled.source,
                note=each.profiled.note,
                account=profile_tables.account(each.profiled),
                operators=profile_tables.rows(each.profiled, by_layer=by_layer),
            )
            for each in found
        ),
        failed=tuple(Failure(name, str(error)) for name, error in failed.items()),
    )
