"""From a record to what a comparison needs of it: one number for every case and arm, with its reasons, digests, parity.

A record holds megabytes of samples; many runs are compared one after the other, and only this is kept of each.
"""

import hashlib
import math
from datetime import datetime
from typing import TypeAlias

import msgspec

from levelfield import analysis
from levelfield.analysis import Analysis, collect, conditions, ranks
from levelfield.analysis.types import (
    AnyRow,
    Canary,
    ColdRow,
    ConvergenceRow,
    LoadGenRow,
    MemoryRow,
    Row,
    Standing,
    WindowsOf,
)
from levelfield.analysis.whole_launch import total_ns
from levelfield.compare.types import RunFacts
from levelfield.history import environment
from levelfield.history.summary import estimate_of
from levelfield.record.schema import (
    Absent,
    Arm,
    Block,
    Case,
    Fact,
    FailureKind,
    Fingerprint,
    Image,
    Imported,
    Launch,
    Parity,
    Run,
    Settings,
    elsewhere,
)

ResultKey: TypeAlias = tuple[str, str]
"""Arm id and case id."""
Question: TypeAlias = tuple[str, str, int, int, str]
"""Model (or its training), precision, batch, threads and device: what an output answers, whatever is timed about it."""

NO_FAULT_OF_THE_NEW = frozenset({"engine", "interrupted"})
"""Failures of what lies around a worker: they say nothing about the stack that was to be measured."""
MOST_PARITIES = 8
"""Different outputs of one arm that are kept: a few show that an arm gives another output in every launch."""


class Answer(msgspec.Struct, frozen=True):
    """Answer of one arm to one case in one run."""

    standing: Standing
    reason: str = ""
    failure: FailureKind | None = None
    cost: float | None = None
    """Time of a call, of an item, or to the first answer in nanoseconds; or bytes. Above zero."""
    launch_costs: tuple[float, ...] = ()
    """The same of each launch."""
    inputs: frozenset[str] = frozenset()
    """Digests of the inputs."""
    weights: frozenset[str] = frozenset()
    onnx: frozenset[str] = frozenset()
    images: frozenset[str] = frozenset()
    """Digest of what was trained to a target on, where that is a user's own."""
    target: frozenset[str] = frozenset()
    latency_target: frozenset[str] = frozenset()
    """That LoadGen's Server scenario was to hold."""
    """Accuracy that was trained to."""
    windows_of: WindowsOf = ""
    """Of which windows it is, by the state of the machine."""


class Reduced(msgspec.Struct, frozen=True):
    """One run."""

    facts: RunFacts
    seconds: float | None
    """How long it took; None where it was cut off or its times cannot be read."""
    launcher: str
    timed_region: str
    arms: dict[str, Arm]
    cases: dict[str, Case]
    answers: dict[ResultKey, Answer]
    """Case by case, in each as the report orders them."""
    parities: dict[tuple[str, Question], tuple[Parity, ...]]
    """Arm id and question to the outputs seen, each digest once."""
    hardware: dict[str, str]
    machine: Fingerprint
    images: tuple[Image, ...]
    environment: environment.Environment
    canary: Answer | None = None
    """How fast the machine itself was, by the canary; None where it took no part."""
    imported: Imported | None = None
    """The file of another tool that the run was made of; None: Levelfield measured it."""

    @property
    def moment(self) -> str:
        """When it was measured, ISO 8601; empty where the file of another tool does not say."""
        undated = self.imported is not None and isinstance(self.imported.recorded, Absent)
        return "" if undated else self.facts.started

    @property
    def gpu(self) -> dict[str, Fact]:
        """Driver and devices, as the fingerprint has them."""
        return self.machine.get("gpu", {})


def question(case: Case) -> Question:
    """Return what an output to this case answers."""
    return case.question, case.precision, case.batch, case.threads, case.device


def reduce(run: Run, sha256: str, analysed: Analysis | None = None) -> Reduced:
    """Reduce a run to what a comparison needs."""
    blocks = analysis.analyse_blocks(run) if analysed is None else analysed.blocks
    arms: dict[str, Arm] = {}
    answers: dict[ResultKey, Answer] = {}
    parities: dict[tuple[str, Question], dict[str, Parity]] = {}
    for block, answered in zip(run.blocks, blocks, strict=True):
        compared = {arm.id: arm for arm in block.arms if arm.id != block.canary and ranks.original(arm, block) is None}
        arms |= compared
        for row in answered.rows:
            if row.arm not in compared:
                continue  # the same arm a second time
            arm = compared[row.arm]
            answers[arm.id, block.case.id] = answer_of(row, block, arm, run.settings)
            seen = parities.setdefault((arm.id, question(block.case)), {})
            for _, launch in collect.launches(block, arm.id):
                if launch.parity is not None and len(seen) < MOST_PARITIES:
                    seen.setdefault(launch.parity.output_sha256, launch.parity)
    return Reduced(
        facts=RunFacts(id=run.id, started=run.started, finished=run.finished, sha256=sha256, labels=run.labels),
        seconds=_seconds(run),
        launcher=run.settings.launcher,
        timed_region=run.settings.timed_region,
        arms=arms,
        cases={block.case.id: block.case for block in run.blocks},
        answers=answers,
        parities={key: tuple(values.values()) for key, values in parities.items() if values},
        hardware=environment.hardware(run.machine),
        machine=run.machine,
        images=run.images,
        environment=_surroundings(run),
        imported=run.imported,
        canary=_canary(conditions.canary(run) if analysed is None else analysed.canary),
    )


def answer_of(row: AnyRow, block: Block, arm: Arm, settings: Settings) -> Answer:
    """Return the answer of an arm to the case of a block."""
    launches = [launch for _, launch in collect.launches(block, arm.id)]
    own = settings.own_images
    return Answer(
        standing=row.standing,
        reason=row.reason,
        failure=row.failure.kind if row.failure is not None else None,
        cost=_cost(row, per_item=block.case.per_item),
        launch_costs=_launch_costs(row, per_item=block.case.per_item),
        inputs=_seeds(launches) or frozenset(launch.inputs_sha256 for launch in launches if launch.inputs_sha256),
        weights=frozenset(launch.weights_sha256 for launch in launches if launch.weights_sha256),
        onnx=frozenset(launch.onnx_sha256 for launch in launches if launch.onnx_sha256),
        images=frozenset({own.sha256 if own is not None else "the digits"} if block.case.converges else ()),
        latency_target=frozenset(
            f"{each.loadgen.target_ns / 1e6:g} ms"
            for each in launches
            if each.loadgen is not None and each.loadgen.target_ns is not None
        ),
        target=frozenset(f"{each.convergence.target:g}" for each in launches if each.convergence is not None),
        windows_of=row.windows_of if isinstance(row, Row) else "",
    )


def _canary(found: Canary | None) -> Answer | None:
    """Return the median of the canary's call, and that of each generation of each block."""
    if found is None:
        return None
    return Answer("shown", cost=found.median_ns, launch_costs=tuple(point.median_ns for point in found.points))


def _seeds(launches: list[Launch]) -> frozenset[str]:
    """Return one digest of the data of all trainings to a target, seed by seed: results of other seeds do not compare.

    A time is the mean over seeds, and what varies by seed is no property of a stack. Empty without such a training.
    """
    seen = sorted(launch.convergence.inputs_sha256 for launch in launches if launch.convergence is not None)
    return frozenset({hashlib.sha256("\n".join(seen).encode()).hexdigest()}) if seen else frozenset()


def _cost(row: AnyRow, *, per_item: bool) -> float | None:
    _, unit, estimate = estimate_of(row, per_item=per_item)
    if estimate is None:
        return None
    cost = 1e9 / estimate.value if unit == "items/s" else estimate.value
    return cost if 0 < cost < math.inf else None


def _launch_costs(row: AnyRow, *, per_item: bool) -> tuple[float, ...]:
    match row:
        case Row() if per_item:
            return tuple(1e9 / rate for rate in row.launch_items_per_second if rate > 0)
        case Row():
            return row.launch_medians_ns
        case ConvergenceRow():
            return row.launch_times_ns
        case LoadGenRow():
            return row.launch_values_ns
        case ColdRow():
            return tuple(float(total_ns(startup)) for startup in row.startups)
        case MemoryRow():
            peaks = [reading.peak_rss_bytes for reading in row.readings]
            return tuple(float(peak) for peak in peaks if not isinstance(peak, Absent))


def _seconds(run: Run) -> float | None:
    if run.finished is None or run.resumed:
        return None
    try:
        seconds = (datetime.fromisoformat(run.finished) - datetime.fromisoformat(run.started)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return seconds if seconds > 0 else None


def _surroundings(run: Run) -> environment.Environment:
    """Return the environment as the history keeps it, and the layers of each image, which only a comparison shows."""
    found = {group: dict(facts) for group, facts in environment.environment(run).items()}
    for image in run.images:
        place = elsewhere(image.launcher, run.settings.launcher)
        facts = found.setdefault(environment.image_group(image.name, image.variant, place), {})
        facts |= {f"layer {index}": layer for index, layer in enumerate(image.layers, start=1)}
        if not isinstance(image.size_bytes, Absent):
            facts["size bytes"] = str(image.size_bytes)
    return found
