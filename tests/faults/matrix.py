"""The order of the matrix: which fault strikes at which events of a small run."""

import contextlib
import subprocess
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any

import docker

from levelfield.launchers.docker import connect
from levelfield.record.journal import Event, LaunchDone, RoundDone, TurnTaken
from tests.engines import PrivateEngine
from tests.faults import harm
from tests.faults.place import Place, Result, place, unbroken

FAULTS = tuple(harm.TITLES)
"""By the names of their functions."""


def matrix(only: Container[str] = FAULTS) -> Iterator[Result]:
    """Do every fault, or only some, one after the other."""
    engine = connect()
    with place(engine) as here:
        whole = unbroken(here)

    def one(fault: Callable[..., Result], *words: Any, **options: Any) -> Result:
        with place(engine) as here:
            return done(fault, here, *words, **options)

    for fault, number, options in _struck(whole[1]):
        if fault.__name__ in only:
            yield one(fault, whole, number, **options)
    if harm.engine_killed.__name__ in only:
        with _own_engine() as (private, client):
            private.load(engine, *(image.tag for image in whole[0].images))
            for number in _few(whole[1]):
                with place(client, private.host) as here:
                    yield done(harm.engine_killed, here, whole, number, private)
    if harm.network_cut.__name__ in only:
        with _own_engine() as (private, client), place(client, private.host) as here:
            yield done(harm.network_cut, here)


@contextlib.contextmanager
def _own_engine() -> Iterator[tuple[PrivateEngine, docker.DockerClient]]:
    """Start an engine that has no images, and end it."""
    private = PrivateEngine()
    try:
        with contextlib.closing(docker.DockerClient(private.host)) as client:
            yield private, client
    finally:
        private.close()


def _struck(events: Sequence[Event]) -> Iterator[tuple[Callable[..., Result], int, dict[str, bool]]]:
    """Yield which fault strikes at which event, counted from 1."""
    # What follows the last event of a run is not measured: the run is finished, and there is nothing to take up.
    yield from ((harm.killed, number, {"torn": False}) for number in range(1, len(events)))
    yield from ((harm.killed, number, {"torn": True}) for number in range(2, len(events) + 1))
    yield from ((harm.disk_full, number, {}) for number in _taken(events)[:-1])
    launched, first, half = _few(events)
    yield from ((harm.read_only, number, {}) for number in (first, half))
    yield from ((harm.clock_back, number, {}) for number in (first, half))
    yield from ((harm.starved, number, {}) for number in (launched + 1, first, half))


def _taken(events: Sequence[Event]) -> list[int]:
    return [number for number, event in enumerate(events, start=1) if isinstance(event, TurnTaken | RoundDone)]


def _few(events: Sequence[Event]) -> tuple[int, int, int]:
    """Return the first launch, the first window, and a window in the middle of the run."""
    taken = _taken(events)
    launched = next(number for number, event in enumerate(events, start=1) if isinstance(event, LaunchDone))
    return launched, taken[0], taken[len(taken) // 2]


def done(fault: Callable[..., Result], here: Place, *words: Any, **options: Any) -> Result:
    """Do one fault; where it cannot be done, that is the result, and the others follow."""
    try:
        return fault(here, *words, **options)
    except (AssertionError, OSError, LookupError, subprocess.SubprocessError) as error:
        why = f"it was not done: {type(error).__name__} {error}"
        return Result(harm.TITLES[fault.__name__], "", 0, "", 0, 0, 0, 0, (why,), 0.0)
