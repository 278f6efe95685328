"""Run `levelfield ab` on the frozen pairs, with its own budget, and keep what it says."""

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from rich.console import Console

from suite import __version__
from suite.compare.types import Gate
from suite.errors import LevelfieldError
from suite.images.build import build
from suite.plan import Selection
from suite.prepare.own_model import store
from suite.record.schema import OwnFile, Run
from suite.run.ab import AbResult, measure
from suite.run.options import Options
from suite.trials.record import write
from suite.trials.regressions import files, locks
from suite.trials.regressions.pairs import Frozen, FrozenList, Pair
from suite.trials.regressions.record import Outcome, Record, outcome_of, summary
from suite.trials.regressions.show import markdown


class TrialRequest(msgspec.Struct, frozen=True):
    """How `ab` is called."""

    budget_seconds: float | None
    """None: its own default."""
    margin: float
    profile: str


def run(
    pairs: tuple[Pair, ...],
    frozen: FrozenList,
    request: TrialRequest,
    out: Path,
    say: Callable[[str], None],
    before: Record | None,
) -> Record:
    """Compare every frozen pair; the record is written after each.

    Parameters
    ----------
    pairs : tuple of Pair
        The committed list.
    frozen : FrozenList
        Those to compare.
    request : TrialRequest
        How.
    out : Path
        File of the record.
    say : callable
        Prints a line of progress.
    before : Record or None
        A record to go on with.

    Returns
    -------
    Record

    Raises
    ------
    LevelfieldError
        A frozen pair is not in the list, its workload is another than the one that was classified, or nothing could be
        measured.
    """
    known = {each.name: each for each in pairs}
    strangers = [each.name for each in frozen.pair if each.name not in known]
    if strangers:
        raise LevelfieldError(f"The frozen pair {strangers[0]} is not in the list of pairs.")
    record = before
    done = {each.pair.name for each in record.outcomes} if record else set()
    todo = [(known[each.name], each) for each in frozen.pair if each.name not in done]
    locks.place(pair for pair, _ in todo)
    # To make an image is no part of a comparison's time.
    for image, version in locks.wanted(pair for pair, _ in todo):
        build(image, "cpu", version, progress=say)
    gate = Gate(margin=request.margin)
    for number, (pair, each) in enumerate(todo, start=1):
        found, seconds = _measure(pair, each, request, gate, say)
        outcome = outcome_of(pair, each, found.comparison, seconds)
        record = _with(record or _begun(found.run, frozen, request, gate), outcome, found.run)
        write(record, out, markdown(record))
        say(f"{number} of {len(todo)}, {pair.name}, {seconds:.0f} s: {outcome.verdict}, by its class {each.class_}")
    if record is None:
        raise LevelfieldError("No pair is frozen.")
    return record


def _measure(
    pair: Pair, frozen: Frozen, request: TrialRequest, gate: Gate, say: Callable[[str], None]
) -> tuple[AbResult, float]:
    with tempfile.TemporaryDirectory(prefix="levelfield-regressions-") as name:
        if files.write(pair, Path(name), say) != frozen.model_sha256:
            raise LevelfieldError(f"The workload of {pair.name} is not the one that was classified.")
        own = None if pair.zoo_model else _own(Path(name), pair)
    options = Options(
        selection=Selection(
            profile=request.profile,
            models=(pair.zoo_model,) if pair.zoo_model else (),
            scenarios=("latency",),
            control="none",
            own=own,
        ),
        budget_seconds=request.budget_seconds,
        margin=request.margin,
        reports=Path(tempfile.mkdtemp(prefix="levelfield-regressions-")),
        launcher="docker",
    )
    began = time.monotonic()
    try:
        found = measure(*pair.arms, options, gate, Console(quiet=True))
    finally:
        shutil.rmtree(options.reports, ignore_errors=True)
    return found, time.monotonic() - began


def _own(folder: Path, pair: Pair) -> OwnFile:
    """Keep the workload as `--model` and `--input` do, under the workload's name."""
    named = (folder / files.MODEL).rename(folder / f"{pair.workload}.onnx")
    return store.read(named, {}, {path.stem: path for path in sorted(folder.glob("*.npy"))})


def _begun(run: Run, frozen: FrozenList, request: TrialRequest, gate: Gate) -> Record:
    return Record(
        schema=Record.SCHEMA,
        started=run.started,
        updated="",
        tool_version=__version__,
        settings=settings(request),
        gate=gate,
        machine=run.machine,
        classes_sha256=frozen.record_sha256,
    )


def settings(request: TrialRequest) -> dict[str, str]:
    """Return the settings as the record holds them.

    Parameters
    ----------
    request : TrialRequest
        What was asked for.
    """
    return {name: str(value) for name, value in msgspec.to_builtins(request).items()}


def _with(record: Record, outcome: Outcome, run: Run) -> Record:
    outcomes = (*record.outcomes, outcome)
    return msgspec.structs.replace(
        record, outcomes=outcomes, updated=run.finished or run.started, summary=summary(outcomes)
    )
