"""The profile of one result by the framework's own profiler: its id, its launch, and its table."""

import re
import statistics
from collections.abc import Iterator, Sequence

import msgspec
from rich.console import Console

from levelfield import plan, scenarios, terminals
from levelfield.backends.profiling.operators import Operator
from levelfield.errors import LevelfieldError, printable
from levelfield.launchers.protocol import Launcher
from levelfield.launchers.worker import WorkerError
from levelfield.plan import Plan, Selection, arms
from levelfield.plan.cpu_pinning import Requested
from levelfield.record.schema import Arm, Case, Image
from levelfield.report.tables import Column, Value, make, rendered
from levelfield.schedule.launches import bring_up
from levelfield.schedule.listener import ProgressListener
from levelfield.schedule.outcomes import Outcome, end_workers
from levelfield.schedule.preparation import prepare
from levelfield.schedule.resources import RunResources, remove_caches
from levelfield.worker.messages import Profile, Profiled
from levelfield.zoo import models

EXAMPLE = "onnxruntime/resnet50/latency/fp32/b1/t2/cpu"
PROFILED = tuple(name for name in scenarios.NAMES if scenarios.get(name).profiled)
_PARTS = ("arm", "model", "scenario", "precision", "batch", "threads", "device")
_NUMBER = {"batch": re.compile(r"b(\d{1,6})"), "threads": re.compile(r"t(\d{1,6})")}
_HOW = f"Write it as reports do: {EXAMPLE}; what stands behind the model may be left out."


class ExplainRequest(msgspec.Struct, frozen=True):
    """One result to explain."""

    id: str
    arm: Arm
    case: Case
    plan: Plan
    """Of this case and this arm alone."""


def parse(text: str, cpus: Requested = ()) -> ExplainRequest:
    """Read the id of a result; parts left out at its end are those of the plain case.

    That is `latency` (of an operator, `operators`), fp32, one thread for every core.

    Raises LevelfieldError: a part is not known (close matches are named), or the result is none that can be profiled.
    """
    words = text.strip().split("/")
    parts = dict(zip(_PARTS, words, strict=False))
    if not len(words) >= 2 or not all(words) or parts["arm"] in plan.names_of_models():
        raise LevelfieldError(f"{text!r} names no result: a backend and a model, each at the least.", fix=_HOW)
    arm = arms.parse(parts["arm"])
    usual = "operators" if parts["model"] in models.operators() else "latency"
    scenario = parts.get("scenario", usual)
    network = parts["model"] in plan.names_of_models()
    if scenario in scenarios.NAMES and (scenario not in PROFILED or (scenarios.get(scenario).operators and network)):
        raise LevelfieldError(
            f"{scenario} of {parts['model']} is not profiled.",
            fix=f"Explain {arm.id}/{parts['model']}/{usual} instead; {', '.join(PROFILED)} can be.",
        )
    if len(words) > len(_PARTS) or arm.variant != "cpu" or parts.get("device", "cpu") != "cpu":
        raise LevelfieldError(
            "Operators are explained on the CPU and in one process only.",
            fix="Leave out what stands behind the threads.",
        )
    batch, threads = _number(parts, "batch"), _number(parts, "threads")
    made = plan.make(
        Selection(
            models=(parts["model"],),
            backends=(arm.id,),
            scenarios=(scenario,),
            precisions=(parts.get("precision", "fp32"),),
            batches=() if batch is None else (batch,),
            threads=() if threads is None else (threads,),
            cpus=cpus,
            control="none",
        )
    )
    block = made.blocks[0]  # of several batches, where none is named, the first
    if batch not in {None, block.case.batch}:
        raise LevelfieldError(f"{scenario} is measured at batch {block.case.batch} alone.", fix=f"Leave /b{batch} out.")
    single = msgspec.structs.replace(made, blocks=(block,))
    return ExplainRequest(id=f"{arm.id}/{block.case.id}", arm=block.arms[0], case=block.case, plan=single)


def _number(parts: dict[str, str], part: str) -> int | None:
    if part not in parts:
        return None
    found = _NUMBER[part].fullmatch(parts[part])
    if found is None:
        raise LevelfieldError(
            f"{parts[part]!r} is no {'batch' if part == 'batch' else 'number of threads'}.",
            fix=f"Write {'b8' if part == 'batch' else 't2'}. {_HOW}",
        )
    return int(found[1])


REQUEST = Profile(window_ns=500_000_000, min_calls=5, max_calls=200, rewarm_ns=200_000_000)
TIMEOUT_S = 600.0
"""What is compiled may be compiled once more, and a trace of two hundred calls is read."""


class Explained(msgspec.Struct, frozen=True):
    """Profile of one result."""

    id: str
    version: str
    """The framework's."""
    image: Image
    profiled: Profiled


def explain(request: ExplainRequest, launcher: Launcher, listener: ProgressListener) -> Explained:
    """Launch a worker, load as `bench` does, and profile.

    Raises LevelfieldError: it could not be launched, loaded or profiled; the message gives the reason.
    """
    resources = prepare(request.plan, launcher, listener, judged=False)
    try:
        listener.say(f"loading {request.id}")
        (outcome,) = bring_up(resources, request.case, [request.arm], verify=False, launch_measured=False)
        try:
            listener.say(f"profiling {request.id}")
            profiled = _profiled(request.id, outcome)
        finally:
            end_workers([outcome])
        return Explained(request.id, outcome.launch.framework_version or "", resources.image(request.arm), profiled)
    finally:
        remove_caches(resources.caches)


def profile_pairs(
    old: ExplainRequest, new: ExplainRequest, resources: RunResources, listener: ProgressListener, *, launches: int
) -> list[tuple[Profiled, Profiled]]:
    """Profile two arms of a case in turns, each time in fresh launches; raises as `explain` does."""
    found: list[tuple[Profiled, Profiled]] = []
    for number in range(launches):
        pair: dict[str, Profiled] = {}
        for request in (old, new) if number % 2 == 0 else (new, old):
            listener.say(f"profiling {request.id}, launch {number + 1} of {launches}")
            (outcome,) = bring_up(resources, request.case, [request.arm], verify=False, launch_measured=False)
            try:
                pair[request.arm.id] = _profiled(request.id, outcome)
            finally:
                end_workers([outcome])
        found.append((pair[old.arm.id], pair[new.arm.id]))
    return found


def _profiled(result: str, outcome: Outcome) -> Profiled:
    failure = outcome.launch.failure
    if outcome.worker is None:
        why = failure.message if failure is not None else "its worker is gone."
        raise LevelfieldError(f"{result} could not be loaded: {why}", fix="`levelfield doctor` looks at this machine.")
    try:
        return outcome.worker.ask(REQUEST, Profiled, TIMEOUT_S)
    except WorkerError as error:
        raise LevelfieldError(f"{result} could not be profiled: {error.message}") from error


class Row(msgspec.Struct, frozen=True):
    """One line of the table: a kind of operator, or one operator of a kind."""

    operator: str
    layer: str
    """Empty where kinds are summed, and where the framework has no name for it."""
    calls: float
    """In one call of the model."""
    self_us: float
    """In one call of the model, in its own work alone: the median over calls."""
    share: float
    """Of all operators' time."""
    cumulative: float


class Account(msgspec.Struct, frozen=True):
    """How far the profile can be believed."""

    plain_us: float
    """Median call without the profiler."""
    plain_calls: int
    profiled_us: float
    """Median call under it."""
    profiled_calls: int
    operators_us: float
    """All operators' own time in one call."""
    slowdown: float
    """Of the median call, by the profiler."""
    accounted: float
    """All operators' time as a share of the plain median."""


def rows(profiled: Profiled, *, by_layer: bool) -> tuple[Row, ...]:
    """Return the operators of a profile, the longest first, with their shares of its whole self time."""
    operators = profiled.operators if by_layer else _by_kind(profiled.operators)
    calls = len(profiled.profiled_ns)
    whole = sum(each.self_ns for each in operators)
    found: list[Row] = []
    so_far = 0.0
    for each in operators:
        so_far += each.self_ns
        found.append(
            Row(
                operator=each.kind,
                layer=each.name,
                calls=each.executions / calls,
                self_us=each.self_ns / 1000,
                share=each.self_ns / whole if whole else 0.0,
                cumulative=so_far / whole if whole else 0.0,
            )
        )
    return tuple(found)


def _by_kind(operators: Sequence[Operator]) -> list[Operator]:
    found: dict[str, Operator] = {}
    for each in operators:
        kind = found.get(each.kind, Operator(each.kind, "", 0, 0.0))
        found[each.kind] = Operator(each.kind, "", kind.executions + each.executions, kind.self_ns + each.self_ns)
    return sorted(found.values(), key=lambda each: (-each.self_ns, each.kind))


def account(profiled: Profiled) -> Account:
    """Compare the profile with the plain calls of the same launch."""
    plain_us = statistics.median(profiled.plain_ns) / 1000
    profiled_us = statistics.median(profiled.profiled_ns) / 1000
    operators_us = sum(each.self_ns for each in profiled.operators) / 1000
    return Account(
        plain_us=plain_us,
        plain_calls=len(profiled.plain_ns),
        profiled_us=profiled_us,
        profiled_calls=len(profiled.profiled_ns),
        operators_us=operators_us,
        slowdown=profiled_us / plain_us,
        accounted=operators_us / plain_us,
    )


COLUMNS = ("result", "version", "operator", "layer", "calls", "self_us", "share", "cumulative")
"""Of CSV."""


OPERATORS: tuple[Column[Row], ...] = (
    Column("operator", lambda row: _plain(row.operator), numeric=False),
    Column("layer", lambda row: _plain(row.layer), numeric=False, where=lambda rows: any(row.layer for row in rows)),
    Column("calls", lambda row: f"{row.calls:.6g}"),
    Column("self µs", lambda row: _us(row.self_us)),
    Column("share", lambda row: _share(row.share)),
    Column("cumulative", lambda row: _share(row.cumulative)),
)


def show(found: Explained, console: Console, *, by_layer: bool, top: int) -> None:
    """Print the table of one result, and how accurate it is."""
    every = rows(found.profiled, by_layer=by_layer)
    terminals.say(console, _plain(f"{found.id}: {found.profiled.source}, version {found.version}"), "bold")
    shown = every if not top else every[:top]
    if rest := every[len(shown) :]:
        calls, self_us, share = (sum(getattr(row, name) for row in rest) for name in ("calls", "self_us", "share"))
        shown = (*shown, Row(f"{len(rest)} more (--top 0 shows all)", "", calls, self_us, share, 1.0))
    terminals.show(console, [rendered(make("", OPERATORS, shown))])
    terminals.say(console, sentence(account(found.profiled)))
    terminals.say(console, _plain(found.profiled.note), "dim")
    console.print()


def sentence(account: Account) -> str:
    """Say how much of the plain call the profile accounts for, and what profiling cost."""
    return (
        f"Operators take {_us(account.operators_us)} µs of a call: {_share(account.accounted)} of the plain median "
        f"({_us(account.plain_us)} µs, {account.plain_calls} calls in the same launch). Profiled, a call took "
        f"{account.slowdown:.2f} times as long ({_us(account.profiled_us)} µs, {account.profiled_calls} calls)."
    )


def as_rows(found: Sequence[Explained], *, by_layer: bool) -> Iterator[dict[str, Value]]:
    """Yield the rows of all results for CSV."""
    for each in found:
        for row in rows(each.profiled, by_layer=by_layer):
            yield {"result": each.id, "version": each.version, **msgspec.structs.asdict(row)}


def _plain(text: str) -> str:
    return printable(text).replace("\n", " ")


def _us(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ") if value >= 100 else f"{value:.3g}"


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"
