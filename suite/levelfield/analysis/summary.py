"""A run reduced to what is asked of it later: one figure for every case and arm, its reasons, digests and parity.

A record holds megabytes of samples, and analysing them takes a second. `Reduced` is what comparisons need of a run.
`Summary` is what trends need of it, a few kilobytes that are kept beside the record (`analysis.summaries`).
"""

import hashlib
import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Annotated, Literal, TypeAlias

import msgspec

from levelfield import analysis
from levelfield.analysis import Analysis, collect, environment, machine, ranks
from levelfield.analysis.types import AnyRow, Canary, Estimate, MeasuredIn, Row, Standing, compared
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.bounds import MAX_NAME
from levelfield.record.schema import (
    Absent,
    Accuracy,
    Arm,
    Block,
    Case,
    ControlDraw,
    DataSet,
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
from levelfield.record.warnings import JOURNAL_DAMAGED
from levelfield.scenarios import Sample

SCHEMA = 2
"""Version of these types, and of what is computed for them; a summary of another version is made anew."""
CANARY = "canary"
"""Result id of the canary: how the machine itself did, whatever was measured on it."""

Metric: TypeAlias = Literal[
    "median call",
    "items per second",
    "time to accuracy",
    "time to first answer",
    "peak memory",
    "percentile of a query",
]
Unit: TypeAlias = Literal["ns", "items/s", "bytes"]

_Name = Annotated[str, msgspec.Meta(max_length=MAX_NAME)]
_Value = Annotated[str, msgspec.Meta(max_length=environment.LONGEST)]
_Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]
_BEYOND = 1e30
_Positive = Annotated[float, msgspec.Meta(gt=0, lt=_BEYOND)]
_MOST = 20_000


class Result(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One arm's answer to one case."""

    id: _Name
    """`onnxruntime/resnet50/latency/fp32/b1/t2/cpu`."""
    arm: _Name
    image: _Name
    """Group of the environment that says what the arm ran in."""
    metric: Metric
    unit: Unit
    standing: Standing
    """Why there is no estimate, where there is none, or why it is not to be trusted."""
    estimate: _Positive | None = None
    low: _Positive | None = None
    high: _Positive | None = None


class Summary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run."""

    schema: int
    id: _Name
    started: str
    """UTC, ISO 8601, always of the same form, so that texts sort as times do."""
    record_sha256: _Digest
    record_bytes: Annotated[int, msgspec.Meta(gt=0, le=files.MAX_BYTES)]
    machine: _Name
    """Key of the hardware."""
    machine_title: _Name
    launcher: Literal["docker", "venv", "host"]
    labels: Annotated[tuple[_Name, ...], msgspec.Meta(max_length=100)]
    results: Annotated[tuple[Result, ...], msgspec.Meta(max_length=_MOST)]
    environment: dict[_Name, dict[_Name, _Value]]
    controls: Annotated[tuple[ControlDraw, ...], msgspec.Meta(max_length=_MOST)] = ()
    """Ratios that the run measured between identical arms."""
    seal: Annotated[str, msgspec.Meta(max_length=64)] = ""
    """HMAC-SHA256 of the rest, by a key of the installation that made it: one key for what it measured, and another for
    what it computed from a record."""


decoder = msgspec.json.Decoder(Summary)


def summarise(run: Run, result: Analysis, *, record_sha256: str, record_bytes: int) -> Summary:
    """Reduce a run to what the history keeps.

    Raises LevelfieldError: the run's start is not a time, or it holds names or numbers that no history can keep.
    """
    arms = {(block.case.id, arm.id): arm for block in run.blocks for arm in block.arms}
    found = {entry.id: entry for entry in _results(result, arms, run.settings)}
    draft = Summary(
        schema=SCHEMA,
        id=run.id,
        started=utc(run.started),
        record_sha256=record_sha256,
        record_bytes=record_bytes,
        machine=environment.machine_key(run.machine),
        machine_title=environment.machine_title(run.machine),
        launcher=run.settings.launcher,
        labels=run.labels,
        results=tuple(found.values()),
        environment=environment.environment(run),
        controls=ranks.control_draws(run, result.blocks),
    )
    try:
        return decoder.decode(msgspec.json.encode(draft))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise LevelfieldError(
            f"The summary of {run.id[:80]} cannot be kept: {error}.",
            fix="The record was changed or damaged: it holds what no run writes.",
        ) from error


def utc(moment: str) -> str:
    try:
        read = datetime.fromisoformat(moment)
        aware = read if read.tzinfo else read.replace(tzinfo=UTC)
        return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError) as error:
        raise LevelfieldError(
            f"A run began at {moment[:40]!r}, which is no time.", fix="The record was changed or damaged."
        ) from error


def _results(result: Analysis, arms: dict[tuple[str, str], Arm], settings: Settings) -> Iterator[Result]:
    for block in result.blocks:
        for row in block.rows:
            arm = arms[block.case.id, row.arm]
            if arm.ordinal > 1 or row.standing == "absent":  # a second time the same, or no fault and no number
                continue
            name = f"{row.arm}/{block.case.id}{_goal(block.case, settings)}"
            estimate, _ = compared(row, block.case)
            yield _result(name, arm, settings.launcher, measure_of(block.case), row.standing, estimate)
    if result.canary is not None:
        canary = Arm(backend=result.canary.arm, image="canary")
        median = Estimate(result.canary.median_ns)
        yield _result(CANARY, canary, settings.launcher, ("median call", "ns"), "shown", median)


def _goal(case: Case, settings: Settings) -> str:
    """Return what makes it another question: another target."""
    if case.definition.driven_as == "Server" and settings.latency_target_ms is not None:
        return f"/within-{settings.latency_target_ms:g}ms"
    return f"/to-{settings.target:g}" if case.converges and settings.target is not None else ""


def _result(
    name: str, arm: Arm, launcher: str, measure: tuple[Metric, Unit], standing: Standing, estimate: Estimate | None
) -> Result:
    trusted = standing in ("ranked", "shown")  # numbers of a wrong answer are no numbers to follow
    known = estimate if estimate is not None and trusted and _sound(estimate.value) else None
    low, high = (known.low, known.high) if known is not None else (None, None)
    bounded = _sound(low) and _sound(high)
    stem = f"{arm.variant}@{arm.version}" if arm.version else arm.variant
    return Result(
        id=name,
        arm=arm.id,
        image=environment.image_group(arm.image, stem, elsewhere(arm.launcher or launcher, launcher)),
        metric=measure[0],
        unit=measure[1],
        standing=standing,
        estimate=known.value if known is not None else None,
        low=low if bounded else None,
        high=high if bounded else None,
    )


def _sound(value: float | None) -> bool:
    return value is not None and 0 < value < _BEYOND


_MEASURES: dict[Sample, tuple[Metric, Unit]] = {
    "window": ("median call", "ns"),
    "training run": ("time to accuracy", "ns"),
    "LoadGen test": ("percentile of a query", "ns"),
    "cold start": ("time to first answer", "ns"),
    "peak memory": ("peak memory", "bytes"),
}


def measure_of(case: Case) -> tuple[Metric, Unit]:
    """Return what a case measures, and its unit."""
    return ("items per second", "items/s") if case.per_item else _MEASURES[case.definition.sample]


ResultKey: TypeAlias = tuple[str, str]
"""Arm id and case id."""
Question: TypeAlias = tuple[str, str, int, int, str]
"""Model (or its training), precision, batch, threads and device: what an output answers, whatever is timed about it."""

MOST_PARITIES = 8
"""Different outputs of one arm that are kept: a few show how far they lie apart."""


class RunFacts(msgspec.Struct, frozen=True):
    """Which record this is."""

    id: str
    started: str
    finished: str | None
    sha256: str
    """Of the record as JSON."""
    labels: tuple[str, ...] = ()


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
    timed_inputs: frozenset[str] = frozenset()
    """How many batches timed calls take in turn, and their digest."""
    weights: frozenset[str] = frozenset()
    onnx: frozenset[str] = frozenset()
    target: frozenset[str] = frozenset()
    """Accuracy that was trained to."""
    latency_target: frozenset[str] = frozenset()
    """That LoadGen's Server scenario was to hold."""
    windows_of: MeasuredIn = ""
    lacking: str = ""
    """What of the arm was planned and is not in the record, by no fault of its own, so that the rest proves nothing."""


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
    data_sets: tuple[DataSet, ...] = ()
    accuracies: tuple[Accuracy, ...] = ()
    rounds: int = 0
    disturbed: int = 0
    """Of these rounds, by signals from outside."""
    marks: frozenset[tuple[str, float]] = frozenset()
    """Times that no other run has, to the nanosecond: of how launches began, and of some calls."""

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
    damaged = JOURNAL_DAMAGED in {warning.code for warning in run.warnings}
    for block, answered in zip(run.blocks, blocks, strict=True):
        own = {arm.id: arm for arm in block.arms if arm.id != block.canary}
        for name, arm in own.items():
            if ranks.original(arm, block) is None and not (name in arms and arms[name].inject):
                arms[name] = arm  # slowed down in one case, it is slowed down
        copies: dict[str, Answer] = {}
        for row in answered.rows:
            arm = own[row.arm]
            answer, name = answer_of(row, block, arm), ranks.original(arm, block) or arm.id
            seen = parities.setdefault((name, question(block.case)), {})
            for _, launch in collect.launches(block, arm.id):
                if launch.parity is not None:
                    seen.setdefault(launch.parity.output_sha256, launch.parity)
            if name != arm.id:
                copies[name] = msgspec.structs.replace(answer, reason=f"{arm.id}: {answer.reason}")
                continue
            if run.settings.own is not None and not answer.weights:  # names have eight digits of it
                answer = msgspec.structs.replace(answer, weights=frozenset({run.settings.own.sha256}))
            if damaged:
                answer = msgspec.structs.replace(answer, lacking="a part of its run's journal was damaged")
            if answer.windows_of != "calm" and _is_disturbed(block):
                answer = msgspec.structs.replace(answer, windows_of="disturbed")
            answers[name, block.case.id] = answer
        for name, copy in copies.items():
            if copy.standing in {"unequal", "failed"} and (first := answers.get((name, block.case.id))) is not None:
                answers[name, block.case.id] = msgspec.structs.replace(
                    first, standing=copy.standing, reason=copy.reason, failure=copy.failure
                )
    rounds = [taken for block in run.blocks for generation in block.generations for taken in generation.rounds]
    return Reduced(
        facts=RunFacts(id=run.id, started=run.started, finished=run.finished, sha256=sha256, labels=run.labels),
        seconds=_seconds(run),
        launcher=run.settings.launcher,
        timed_region=run.settings.timed_region,
        arms=arms,
        cases={block.case.id: block.case for block in run.blocks},
        answers=answers,
        parities={key: _told_apart(values.values()) for key, values in parities.items() if values},
        hardware=environment.hardware(run.machine),
        machine=run.machine,
        images=run.images,
        environment=_surroundings(run),
        imported=run.imported,
        data_sets=run.data_sets,
        accuracies=run.accuracies,
        canary=_canary(machine.canary(run) if analysed is None else analysed.canary),
        rounds=len(rounds),
        disturbed=sum(bool(taken.disturbed) for taken in rounds),
        marks=frozenset(_marks(run)),
    )


_MARKED = 3
"""Calls of a window that mark a run."""


def _marks(run: Run) -> Iterator[tuple[str, float]]:
    for block in run.blocks:
        for _, launch in collect.launches(block):
            start = launch.startup
            if launch.arm != block.canary and start is not None:
                times = (start.start_ns, start.import_ns, start.load_ns)
                yield from (
                    (f"{launch.arm} {at}", each) for at, each in enumerate(times) if isinstance(each, int) and each
                )
        for _, _, turn in collect.turns(block) if run.imported is not None else ():
            samples = turn.window.samples_ns[:_MARKED] if turn.window is not None else ()
            yield from ((f"{turn.arm}/{block.case.id} {at}", each) for at, each in enumerate(samples))


def _told_apart(outputs: Iterable[Parity]) -> tuple[Parity, ...]:
    """Return the first output, and of the others those that differ most from it: which are not equal, then by distance.

    Two outputs that rounding does not explain are not both as near to the first as rounding goes.
    """
    first, *others = outputs

    def distance(other: Parity) -> float:
        alike = (first.inputs, len(first.projection)) == (other.inputs, len(other.projection))
        return math.dist(first.projection, other.projection) if alike else math.inf

    others.sort(key=lambda other: (other.equal, -distance(other)))
    return (first, *others[: MOST_PARITIES - 1])


def _is_disturbed(block: Block) -> bool:
    """Return whether most generations had no round that was not disturbed from outside, so that these count."""
    measured = [generation.rounds for generation in block.generations if generation.rounds]
    return 2 * sum(all(taken.disturbed for taken in rounds) for rounds in measured) > len(measured)


def answer_of(row: AnyRow, block: Block, arm: Arm) -> Answer:
    """Return the answer of an arm to the case of a block; it failed where any launch did, by a fault of its own."""
    launches = [launch for _, launch in collect.launches(block, arm.id)]
    estimate, of_launches = compared(row, block.case)
    cost = _cost(estimate.value, block.case) if estimate is not None else 0.0
    standing, reason = row.standing, row.reason
    if standing in {"ranked", "shown", "control"}:
        lost, done = row.failure, sum(launch.failure is None for launch in launches)
        if (block.case.converges or block.case.definition.driven) and len(of_launches) < done:
            short = done - len(of_launches)
            standing, reason = "failed", f"{short} of {done} launches did not reach the target"
            cost = 0.0  # of those that did reach it: it would flatter the arm
        elif lost is not None and lost.kind not in ranks.NO_FAULT | ranks.NO_FAULT_OF_AN_ARM:
            standing, reason = "failed", f"not every launch worked: {lost.message}"
    return Answer(
        standing=standing,
        reason=reason,
        failure=row.failure.kind if row.failure is not None else None,
        cost=cost if 0 < cost < math.inf else None,
        launch_costs=tuple(_cost(value, block.case) for value in of_launches if value > 0),
        inputs=_seeds(launches) or frozenset(launch.inputs_sha256 for launch in launches if launch.inputs_sha256),
        timed_inputs=frozenset(f"{each.timed_inputs} {each.timed_inputs_sha256}" for each in launches),
        weights=frozenset(launch.weights_sha256 for launch in launches if launch.weights_sha256),
        onnx=frozenset(launch.onnx_sha256 for launch in launches if launch.onnx_sha256),
        latency_target=frozenset(
            f"{each.loadgen.target_ns / 1e6:g} ms"
            for each in launches
            if each.loadgen is not None and each.loadgen.target_ns is not None
        ),
        target=frozenset(f"{each.convergence.target:g}" for each in launches if each.convergence is not None),
        windows_of=row.windows_of if isinstance(row, Row) else "",
        lacking=_lacking(block, arm.id, len(of_launches)),
    )


def _why_invalid(launch: Launch) -> str:
    tests = launch.loadgen.tests if launch.loadgen is not None else ()
    return "" if any(test.valid for test in tests) else next((test.why_invalid for test in tests), "")


def _lacking(block: Block, arm: str, values: int) -> str:
    """Say what of an arm's launches is missing, of which so many have a value; empty: nothing is."""
    whole = launched = lost = measured = failed = 0
    for generation in block.generations:
        own = [launch for launch in generation.launches if launch.arm == arm]
        taken = [turn for round_ in generation.rounds for turn in round_.turns if turn.arm == arm]
        kinds = {each.failure.kind for each in own if each.failure is not None}
        kinds |= {each.failure.kind for each in taken if each.failure is not None}
        failed += bool(kinds)
        if generation.complete:
            whole += 1
            launched += bool(own)
            measured += bool(taken)
            lost += not kinds.isdisjoint(ranks.NO_FAULT_OF_AN_ARM)
    if lost:
        return f"{lost} of {whole} launches were lost to the engine or an interruption"
    if block.left or failed:
        return ""
    if launched < whole:
        return f"{whole - launched} of {whole} generations lack it"
    values = measured if block.case.timed else values
    if values < launched:
        return f"{launched - values} of {launched} launches have no value"
    invalid = next(filter(None, (_why_invalid(launch) for _, launch in collect.launches(block, arm))), "")
    return f"LoadGen calls it invalid: {invalid}" if invalid else ""


def _canary(found: Canary | None) -> Answer | None:
    """Return the median of the canary's call, and that of each generation of each block."""
    if found is None:
        return None
    return Answer("shown", cost=found.median_ns, launch_costs=tuple(point.median_ns for point in found.points))


def _seeds(launches: list[Launch]) -> frozenset[str]:
    """Return one digest of the data of all trainings to a target: results of other seeds do not compare."""
    seen = sorted(launch.convergence.inputs_sha256 for launch in launches if launch.convergence is not None)
    return frozenset({hashlib.sha256("\n".join(seen).encode()).hexdigest()}) if seen else frozenset()


def _cost(value: float, case: Case) -> float:
    """Return what an arm is compared by as a cost: of a rate the time of an item."""
    return 1e9 / value if case.per_item else value


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
