"""The answer of `levelfield explain --json`."""

from collections.abc import Mapping, Sequence

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.run.explain import rows
from levelfield.run.explain.measure import Explained


class Profile(msgspec.Struct, frozen=True):
    """The profile of one result."""

    result: str
    version: str
    image: str
    launcher: str
    profiler: str
    note: str
    account: rows.Account
    operators: tuple[rows.Row, ...]


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
                account=rows.account(each.profiled),
                operators=rows.rows(each.profiled, by_layer=by_layer),
            )
            for each in found
        ),
        failed=tuple(Failure(name, str(error)) for name, error in failed.items()),
    )
