"""Run `levelfield ab` on the frozen pairs, with its own budget, and keep what it says."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from studies import ab
from studies.record import settings_of, write
from studies.regressions import files, locks, pairs
from studies.regressions.pairs import Frozen, FrozenList, Pair
from studies.regressions.record import Record, outcome_of, summary
from studies.regressions.show import markdown
from suite.compare.types import Gate
from suite.errors import LevelfieldError
from suite.images.build import build
from suite.prepare.own_model import store
from suite.run.ab import AbResult


class TrialRequest(msgspec.Struct, frozen=True):
    """How `ab` is called."""

    budget_seconds: float | None
    """None: its own default."""
    margin: float
    profile: str


def run(
    frozen: FrozenList, request: TrialRequest, out: Path, say: Callable[[str], None], before: Record | None
) -> Record:
    """Compare every frozen pair; the record is written after each."""
    known = {each.name: each for each in pairs.read()}
    unknown = [each.name for each in frozen.pair if each.name not in known]
    if unknown:
        raise LevelfieldError(f"The frozen pair {unknown[0]} is not in the list of pairs.")
    record = before
    done = {each.pair.name for each in record.outcomes} if record else set()
    todo = [(known[each.name], each) for each in frozen.pair if each.name not in done]
    locks.install(pair for pair, _ in todo)
    # To make an image is no part of a comparison's time.
    for image, version in locks.required(pair for pair, _ in todo):
        build(image, "cpu", version, progress=say)
    gate, settings = Gate(margin=request.margin), settings_of(request)
    for number, (pair, each) in enumerate(todo, start=1):
        found, seconds = _measure(pair, each, request, gate, say)
        outcome = outcome_of(pair, each, found.comparison, seconds)
        outcomes = (*(record.outcomes if record else ()), outcome)
        record = ab.extended(
            record,
            Record,
            found.run,
            gate,
            settings,
            classes_sha256=frozen.record_sha256,
            outcomes=outcomes,
            summary=summary(outcomes),
        )
        write(record, out, markdown(record))
        say(f"{number} of {len(todo)}, {pair.name}, {seconds:.0f} s: {outcome.verdict}, by its class {each.class_}")
    if record is None:
        raise LevelfieldError("No pair is frozen.")
    return record


def _measure(
    pair: Pair, frozen: Frozen, request: TrialRequest, gate: Gate, say: Callable[[str], None]
) -> tuple[AbResult, float]:
    with tempfile.TemporaryDirectory(prefix="levelfield-regressions-") as name:
        folder = Path(name)
        if files.write(pair, folder, say) != frozen.model_sha256:
            raise LevelfieldError(f"The workload of {pair.name} is not the one that was classified.")
        own = None
        if not pair.zoo_model:  # as `--model` and `--input` keep a file, under the workload's name
            model = (folder / files.MODEL).rename(folder / f"{pair.workload}.onnx")
            own = store.read(model, {}, {path.stem: path for path in sorted(folder.glob("*.npy"))})
    return ab.call(
        *pair.arms,
        gate=gate,
        budget_seconds=request.budget_seconds,
        profile=request.profile,
        models=(pair.zoo_model,) if pair.zoo_model else (),
        scenarios=("latency",),
        own=own,
    )
