"""Sends ONNX's backend tests through the reader of users' files: `python -m studies.onnx_suite.command`.

Each case is read, planned, given a reference, loaded, and compared as in a run, with nothing timed: one worker for each
image answers all of them, and is started again where it ended. What the case itself expects decides whether the verdict
was right.
"""

import json
import math
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import click
import msgspec
import numpy as np

from levelfield.errors import LevelfieldError, printable
from levelfield.images import environments
from levelfield.images.wheels import Progress
from levelfield.launchers.docker import DockerLauncher, connect
from levelfield.launchers.protocol import READY_TIMEOUT_S, Launcher, LaunchSpec, WorkerPaths
from levelfield.launchers.worker import Worker, WorkerError
from levelfield.machine.fingerprint import fingerprint
from levelfield.paths import temporary_folder
from levelfield.plan import Selection, make
from levelfield.prepare.own_model import store
from levelfield.record import files
from levelfield.record.schema import Image
from levelfield.schedule.launches import bring_up
from levelfield.schedule.listener import SilentListener
from levelfield.schedule.outcomes import Outcome, utc_now
from levelfield.schedule.preparation import prepare
from levelfield.schedule.resources import remove_caches
from levelfield.version import __version__
from levelfield.worker.messages import Output, Verified, Verify
from levelfield.worker.session import concatenated
from levelfield.zoo.parity import settled
from studies import commands

WRITER = Path(__file__).with_name("cases.py")
INDEX = "cases.json"
BACKENDS = ("onnxruntime", "openvino")
TIMEOUT_S = 120.0
SEED = 0
REASON_CHARS = 160

Kind = Literal["measured", "seen", "not judged", "refused", "no reference", "not run", "crashed", "wrong", "fault"]
"""Measured, and the expected answer; another answer, and seen as another; that of one of two references that disagree;
refused; the reference says that it cannot run it; the backend says so; its worker ended; the verdict is wrong; an error
of this tool's own."""
NOT_COUNTED = ("no reference", "not run")
"""Of what frameworks cannot run, nothing can be measured."""


class Sent(msgspec.Struct, frozen=True):
    """A case of the suite."""

    name: str
    kind: str
    folder: str
    operators: tuple[str, ...]
    values: dict[str, str]
    """Files with values of inputs."""
    sizes: dict[str, int]
    """Of dimensions to which the file gives none."""
    plain: bool
    """Whether all inputs and outputs are tensors of a type of NumPy's own."""
    expected: tuple[str, ...]
    """Files with values of outputs; empty: it is none that NumPy has a type for."""
    rtol: float
    atol: float


class Suite(msgspec.Struct, frozen=True):
    """What `cases` wrote."""

    onnx: str
    cases: tuple[Sent, ...]


class Group(msgspec.Struct, frozen=True):
    """Cases that ended for one reason."""

    backend: str
    outcome: Kind
    reason: str
    cases: tuple[str, ...]


class Timed(msgspec.Struct, frozen=True):
    """A case that was measured by `levelfield bench`."""

    case: str
    seconds: float
    """Of the command."""
    equal: dict[str, bool]
    """By backend that answered."""
    windows: dict[str, int]


class SuiteRecord(commands.MachineRecord, frozen=True, kw_only=True):
    """Outcomes of the suite."""

    TRIAL = "onnx-suite"

    versions: dict[str, str]
    sent: int
    """Of `cases`."""
    again: int = 0
    """Of those sent, so many once more, after something was mended, on another machine than the one that is named."""
    cases: int
    counts: dict[str, dict[str, dict[str, int]]]
    """Cases by operator (or kind of case, of those with several), backend and outcome."""
    plain: dict[str, dict[str, int]]
    """Cases by backend and outcome, of those alone whose inputs and outputs are tensors of types that NumPy has."""
    groups: tuple[Group, ...]
    """Of all that were not measured."""
    runs: tuple[Timed, ...] = ()
    """Of cases in random order, as a whole run each."""


class Kept:
    """A launcher whose workers stay, one for each image, until they end by themselves; exporters do not."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher, self.kind = launcher, launcher.kind
        self._images: dict[tuple[str, str, str | None], Image] = {}
        self._workers: dict[str, Worker] = {}
        self.versions: dict[str, str] = {}
        """Of the backends that answered."""

    def prepare(self, image: str, variant: str, version: str | None, progress: Progress) -> Image:
        key = (image, variant, version)
        if key not in self._images:
            self._images[key] = self._launcher.prepare(image, variant, version, progress)
        return self._images[key]

    def worker_paths(self, spec: LaunchSpec) -> WorkerPaths:
        return self._launcher.worker_paths(msgspec.structs.replace(spec, cache=None))

    def launch(self, spec: LaunchSpec) -> Worker:
        if spec.export is not None:
            return self._launcher.launch(spec)
        worker = self._workers.get(spec.image.name)
        if worker is None or not worker.alive:
            # A cache would be one case's, and none of these backends keeps any; files of later cases come there too.
            reads = tuple({each.partition("/")[0] for each in spec.reads})
            spec = msgspec.structs.replace(spec, cache=None, reads=reads)
            worker = self._workers[spec.image.name] = self._launcher.launch(spec)
            ready = worker.await_ready(READY_TIMEOUT_S)
            vars(worker).update(await_ready=lambda _: ready, stop=lambda: None, dismiss=lambda: None)
        return worker

    def cannot_bind_memory(self) -> str:
        return self._launcher.cannot_bind_memory()

    def sweep(self) -> int:
        return self._launcher.sweep()

    def close(self) -> None:
        for worker in self._workers.values():
            Worker.stop(worker)


def send(case: Sent, root: Path, launcher: Kept) -> Iterator[tuple[str, Kind, str]]:
    """Yield what comes out of a case: backend, outcome and reason."""
    try:
        folder = root / case.folder
        values = {name: folder / file for name, file in case.values.items()}
        own = store.read(folder / f"{case.name}.onnx", case.sizes, values)
        plan = make(
            Selection(profile="smoke", own=own, backends=BACKENDS, scenarios=("latency",), control="none", threads=(1,))
        )
        resources = prepare(plan, launcher, SilentListener())
    except LevelfieldError as error:
        kind: Kind = "no reference" if isinstance(error.__cause__, WorkerError) else "refused"
        yield from ((backend, kind, error.message) for backend in BACKENDS)
        return
    try:
        (block,) = plan.blocks
        for outcome in bring_up(resources, block.case, block.arms, launch_measured=False):
            if outcome.launch.framework_version:
                launcher.versions[outcome.arm.backend] = outcome.launch.framework_version
            yield outcome.arm.backend, *_judged(case, root, outcome)
    finally:
        remove_caches(resources.caches)


def _judged(case: Sent, root: Path, outcome: Outcome) -> tuple[Kind, str]:
    failure, parity = outcome.launch.failure, outcome.launch.parity
    if failure is not None or parity is None or outcome.worker is None:
        kind, message = (failure.kind, failure.message) if failure is not None else ("", "")
        return ("crashed" if kind in {"crashed", "timeout", "protocol"} else "not run"), message
    try:
        verified = outcome.worker.ask(Verify(1, ask_computed=False), Verified, TIMEOUT_S)
    except WorkerError as error:
        return "crashed", error.message
    differs = difference(case, root, verified.outputs, called_equal=parity.equal)
    if parity.doubt:
        which = "onnx's evaluator's" if parity.reason else "ONNX Runtime's without optimisations"
        return "not judged", f"two references disagree, it is {which}, and {differs or 'as expected'}"
    if parity.equal:
        return ("wrong", f"equal, and {differs}") if differs else ("measured", "")
    return ("seen", differs) if differs else ("wrong", f"not equal, and it is what is expected: {parity.reason}")


def difference(case: Sent, root: Path, outputs: tuple[Output, ...], *, called_equal: bool) -> str:
    """Return how answers differ from those that the case expects, by its own tolerances; empty: they do not.

    To call equal what differs by a unit in the last place of an output's largest number is no mistake, whatever the
    case's tolerance: what sums to 0 has that rounding.
    """
    if len(outputs) != len(case.expected):
        return f"{len(outputs)} outputs for {len(case.expected)}"
    for output, file in zip(outputs, case.expected, strict=True):
        if not file:
            continue
        kept = np.load(root / case.folder / file)
        (wanted,) = concatenated([[kept]])
        if output.shape != wanted.shape:
            return f"the shape {output.shape} for {wanted.shape}"
        both = (np.frombuffer(each.values, each.dtype).astype(np.float64) for each in (output, wanted))
        found, right = settled(*both)
        if not np.isfinite([found, right]).all():
            return "it has other NaN or infinities"
        rounds = called_equal and kept.dtype.kind == "f"
        unit = np.finfo(kept.dtype).eps * np.abs(right).max(initial=0) if rounds else 0
        if not np.allclose(found, right, rtol=case.rtol, atol=max(case.atol, unit)):
            return f"it is {np.abs(found - right).max():.3g} off"
    return ""


def timed(case: Sent, root: Path) -> Timed:
    """Measure a case as its user would."""
    values = {name: str(root / case.folder / file) for name, file in case.values.items()}
    given = [word for pair in (values | case.sizes).items() for word in ("--input", "{}={}".format(*pair))]
    words = ("--profile", "smoke", "--scenarios", "latency", "--control", "none")
    with temporary_folder("suite") as reports:
        model = ("--model", str(root / case.folder / f"{case.name}.onnx"), "--reports", str(reports))
        command, began = [sys.executable, "-m", "levelfield.cli", "bench", *model, *given, *words], time.monotonic()
        subprocess.run(command, capture_output=True, check=False)
        seconds = time.monotonic() - began
        run = files.read(next(path for path in reports.iterdir() if path.is_dir()))
    generations = [generation for block in run.blocks for generation in block.generations]
    parities = {launch.arm: launch.parity for each in generations for launch in each.launches}
    turns = Counter(turn.arm for each in generations for one in each.rounds for turn in one.turns if turn.window)
    equal = {name: parity.equal for name in BACKENDS if (parity := parities.get(name)) is not None}
    return Timed(case.name, round(seconds, 1), equal, {name: turns[name] for name in BACKENDS})


def operator_of(case: Sent, operators: dict[str, str]) -> str:
    """Return what a case is counted under: the one operator that it is made for, or its kind."""
    single = case.operators[0] if len(case.operators) == 1 else "several"
    known = operators.get(re.sub(r"_expanded.*", "", case.name)) or single
    return known if case.kind == "node" else case.kind


def tell(outcomes: Iterable[tuple[Sent, str, Kind, str]], suite: Suite) -> dict[str, Any]:
    """Fold outcomes into the fields of a record."""
    single = {case.name: case.operators[0] for case in suite.cases if len(case.operators) == 1}
    counts: Any = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    plain: dict[str, Counter[str]] = defaultdict(Counter)
    groups: dict[tuple[str, Kind, str], list[str]] = defaultdict(list)
    for case, backend, kind, reason in outcomes:
        counts[operator_of(case, single)][backend][kind] += 1
        plain[backend][kind] += case.plain
        if kind != "measured":
            groups[backend, kind, _folded(case, reason)].append(case.name)
    return {
        "counts": {name: counts[name] for name in sorted(counts, key=str.lower)},
        "plain": plain,
        "groups": tuple(Group(*key, tuple(names)) for key, names in sorted(groups.items())),
    }


def _folded(case: Sent, reason: str) -> str:
    """Return a reason without what only this case calls by that name."""
    text = re.sub(r"(input|output) \S+ of FILE", r"\1 of FILE", printable(reason).replace(f"{case.name}.onnx", "FILE"))
    return " ".join(text.split())[:REASON_CHARS]


def share(record: SuiteRecord, backend: str) -> float:
    """Return the share of plain cases that a backend answers which were compared, with a right verdict."""
    ends = record.plain[backend]
    right = ends.get("measured", 0) + ends.get("seen", 0)
    return right / (sum(ends.values()) - sum(ends.get(each, 0) for each in NOT_COUNTED))


def run(
    root: Path, launcher: Launcher, names: str = "", say: Progress = print, *, limit_s: float = math.inf
) -> SuiteRecord:
    """Send the cases whose names match, in random order and until the time is over, and return the record."""
    suite = msgspec.json.decode((root / INDEX).read_bytes(), type=Suite)
    chosen = [case for case in suite.cases if re.search(names, case.name)]
    random.Random(SEED).shuffle(chosen)  # noqa: S311
    started, end, kept = utc_now(), time.monotonic() + limit_s, Kept(launcher)
    found: list[tuple[Sent, str, Kind, str]] = []
    try:
        for number, case in enumerate(chosen):
            if time.monotonic() > end:
                break
            try:
                found += ((case, *each) for each in send(case, root, kept))
            except Exception as error:  # noqa: BLE001  (that there is none is what is tested)
                found += ((case, backend, "fault", f"{type(error).__name__}: {error}") for backend in BACKENDS)
            if number % 100 == 99:
                say(f"{number + 1} of {len(chosen)}: {Counter(each[2] for each in found)}")
    finally:
        kept.close()
    return SuiteRecord(
        schema=SuiteRecord.SCHEMA,
        started=started,
        tool_version=__version__,
        machine=fingerprint(tuple(sorted(os.sched_getaffinity(0)))),
        versions={"onnx": suite.onnx, **kept.versions},
        sent=len({case.name for case, *_ in found}),
        cases=len(suite.cases),
        **tell(found, suite),
    )


def written(root: Path) -> Path:
    """Write the cases with the exporter's own `onnx`."""
    python = environments.make("exporter").python
    subprocess.run([python, WRITER, root], check=True, capture_output=True)
    return root


@click.command(context_settings=commands.SETTINGS)
@click.option("--only", default="", metavar="PATTERN", help="Cases whose names match; default: all.")
@click.option("--cases", "there", type=click.Path(path_type=Path), default=None, help="Cases that are written already.")
@click.option("--minutes", type=float, default=math.inf, help="Time for it, of cases in random order; default: all.")
@click.option(
    "--runs", default=0, metavar="N", help="Measure N of the cases instead, and add that to the record --out."
)
@commands.out_option
def main(only: str, there: Path | None, minutes: float, runs: int, out: Path | None) -> None:
    """Send ONNX's backend tests through the reader of users' files, and write what came out."""
    with commands.terminal() as listener, temporary_folder("suite") as folder:
        if runs and out is not None:
            record, root = commands.read(out, SuiteRecord), there or written(folder)
            suite = msgspec.json.decode((root / INDEX).read_bytes(), type=Suite)
            missed = {name for group in record.groups for name in group.cases}
            chosen = [case for case in suite.cases if re.search(only, case.name) and case.name not in missed]
            chosen = random.Random(SEED).sample(chosen, runs)  # noqa: S311
            commands.write(msgspec.structs.replace(record, runs=tuple(timed(case, root) for case in chosen)), out)
            return
        record = run(there or written(folder), DockerLauncher(connect()), only, listener.say, limit_s=60 * minutes)
        commands.write(record, out or commands.default_path(SuiteRecord.TRIAL))
        for backend in BACKENDS:
            listener.say(f"{backend}: {share(record, backend):.1%} of {json.dumps(record.plain[backend])}")


if __name__ == "__main__":
    main()
