"""The order of the matrix: which fault strikes at which events of a small run."""

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import docker

from suite.launchers.docker import connect
from suite.records.journal import LaunchDone, RoundDone, TurnTaken
from tests.engines import PrivateEngine
from tests.faults import harm
from tests.faults.place import Place, Result, place, unbroken


def matrix() -> Iterator[Result]:
    """Do every fault, one after the other."""
    engine = connect()
    with place(engine) as here:
        whole = unbroken(here)
    count = len(whole[1])

    def one(fault: Callable[..., Result], *words: Any, **options: Any) -> Result:
        with place(engine) as here:
            return done(fault, here, *words, **options)

    # What follows the last event of a run is not measured: the run is finished, and there is nothing to take up.
    for number in range(1, count):
        yield one(harm.killed, whole, number, torn=False)
    for number in range(2, count + 1):
        yield one(harm.killed, whole, number, torn=True)
    taken = [number for number, event in enumerate(whole[1], start=1) if isinstance(event, TurnTaken | RoundDone)]
    for number in taken[:-1]:
        yield one(harm.disk_full, whole, number)
    first, half = taken[0], taken[len(taken) // 2]
    for number in (first, half):
        yield one(harm.read_only, whole, number)
    for number in (first, half):
        yield one(harm.clock_back, whole, number)
    launched = next(number for number, event in enumerate(whole[1], start=1) if isinstance(event, LaunchDone))
    for number in (launched + 1, first, half):
        yield one(harm.starved, whole, number)
    with contextlib.ExitStack() as stack:
        private = PrivateEngine()
        stack.callback(private.close)
        private.load(engine, *(image.tag for image in whole[0].images))
        client = stack.enter_context(contextlib.closing(docker.DockerClient(private.host)))
        for number in (launched, first, half):
            with place(client, private.host) as here:
                yield done(harm.engine_killed, here, whole, number, private)
    yield one(harm.network_cut)


def done(fault: Callable[..., Result], here: Place, *words: Any, **options: Any) -> Result:
    """Do one fault; where it cannot be done, that is the result, and the others follow."""
    try:
        return fault(here, *words, **options)
    except (AssertionError, OSError, LookupError, subprocess.SubprocessError) as error:
        why = f"it was not done: {type(error).__name__} {error}"
        return Result(fault.__name__.replace("_", " "), "", 0, "", 0, 0, 0, 0, (why,), 0.0)
