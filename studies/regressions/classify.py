"""Run the bare loop on every pair, in processes that take turns, and class it by the rule."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from studies.record import settings_of, write
from studies.regressions import files, locks, rule
from studies.regressions.pairs import Pair
from studies.regressions.record import Classes, Measured, Process
from studies.regressions.rule import Side
from studies.regressions.show import classes_markdown
from suite.backends import registry
from suite.errors import LevelfieldError
from suite.images import environments
from suite.launchers.environment import worker_environment
from suite.machine.fingerprint import fingerprint
from suite.schedule.outcomes import utc_now
from suite.version import __version__

LOOP = Path(__file__).with_name("loop.py")
TIMEOUT_S = 300


class ClassifyRequest(msgspec.Struct, frozen=True):
    """How every pair is measured."""

    processes: int
    """Of each version."""
    warm_s: float
    timed_s: float
    min_calls: int
    """Timed calls of a process at the least."""
    seed: int


def run(
    pairs: tuple[Pair, ...], request: ClassifyRequest, out: Path, say: Callable[[str], None], before: Classes | None
) -> Classes:
    """Classify every pair; the record is written after each."""
    cpus, load = sorted(os.sched_getaffinity(0)), os.getloadavg()
    record = before or Classes(
        schema=Classes.SCHEMA,
        started=utc_now(),
        updated=utc_now(),
        tool_version=__version__,
        seed=request.seed,
        settings=settings_of(request, "seed"),
        machine=fingerprint(tuple(cpus)),
        load_before=load,
        load_after=load,
    )
    locks.install(pairs)
    done = {each.pair.name for each in record.pairs}
    for pair in pairs:
        if pair.name in done:
            continue
        measured = _measure(pair, request, cpus, say)
        record = msgspec.structs.replace(
            record, pairs=(*record.pairs, measured), updated=utc_now(), load_after=os.getloadavg()
        )
        write(record, out, classes_markdown(record))
        found = measured.found
        said = f"{found.name}, {found.ratio:.3f} ({found.low:.3f} to {found.high:.3f})" if found else measured.problem
        say(f"{pair.name}: {said}, {measured.seconds:.0f} s")
    return record


def _measure(pair: Pair, request: ClassifyRequest, cpus: list[int], say: Callable[[str], None]) -> Measured:
    image = registry.get(pair.backend).image
    versions: dict[Side, str] = {"old": pair.old, "new": pair.new}
    pythons = {
        side: environments.make(image, "cpu", version, progress=say).python for side, version in versions.items()
    }
    with tempfile.TemporaryDirectory(prefix="levelfield-regressions-") as name:
        sha256 = files.write(pair, Path(name), say)
        options = {"framework": pair.backend, "folder": name, "cpus": cpus, "threads": len(cpus)}
        options |= {field: getattr(request, field) for field in ("warm_s", "timed_s", "min_calls")}
        started, began = utc_now(), time.monotonic()
        processes: list[Process] = []
        problem = ""
        try:
            # Another order for every pair, the same again for the same seed.
            seed = request.seed ^ int.from_bytes(pair.name.encode()[-7:], "little")
            order = rule.order(request.processes, seed)
            processes.extend(_process(side, pythons[side], versions[side], options) for side in order)
        except LevelfieldError as error:
            problem = str(error)
    medians = {side: [each.median_ns for each in processes if each.side == side] for side in versions}
    return Measured(
        pair=pair,
        model_sha256=sha256,
        started=started,
        seconds=time.monotonic() - began,
        threads=len(cpus),
        processes=tuple(processes),
        found=None if problem else rule.classify(medians["old"], medians["new"]),
        problem=problem,
    )


def _process(side: Side, python: Path, version: str, options: dict[str, Any]) -> Process:
    """Run one process of the bare loop, with the variables that workers of `ab` get as well."""
    folders = dict.fromkeys(("HOME", "TMPDIR"), options["folder"])
    variables = worker_environment(threads=options["threads"], cpus=options["cpus"]) | folders
    command = [str(python), "-I", str(LOOP), json.dumps(options)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise LevelfieldError(f"A process of {version} did not end in {TIMEOUT_S} s.") from error
    if done.returncode:
        raise LevelfieldError(f"{version} failed: {' '.join(done.stderr.split())[-300:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    if found["version"] != version:
        raise LevelfieldError(f"The environment of {version} holds {found['version']}.")
    return Process(side=side, median_ns=found["median_ns"], calls=found["calls"])
