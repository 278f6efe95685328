"""The profile of one result by the framework's own profiler: its id read, and its launch."""

import re

import msgspec

from levelfield import plan, scenarios
from levelfield.errors import LevelfieldError
from levelfield.launchers.protocol import Launcher
from levelfield.launchers.worker import WorkerError
from levelfield.plan import Plan, Selection, arms
from levelfield.plan.cpu_pinning import Requested
from levelfield.record.schema import Arm, Case, Image
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
_TOGETHER = re.compile(r"p\d{1,6}")
_DEPTH = re.compile(r"d\d{1,6}(/growing)?")
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
    if len(words) > len(_PARTS) and _TOGETHER.fullmatch(words[-1]):
        raise LevelfieldError(
            "What several processes train together is not profiled.",
            fix=f"Explain one process's training instead: {'/'.join(words[:-1])}.",
        )
    if len(words) > len(_PARTS) and _DEPTH.fullmatch("/".join(words[len(_PARTS) :])):
        words = words[: len(_PARTS)]  # its scenario is refused below
    if not 2 <= len(words) <= len(_PARTS) or not all(words):
        raise LevelfieldError(f"{text!r} names no result.", fix=_HOW)
    parts = dict(zip(_PARTS, words, strict=False))
    if parts["arm"] in plan.names_of_models():
        raise LevelfieldError(
            f"{text!r} names a case, and nobody who answers it.", fix=f"Put a backend before it: onnxruntime/{text}."
        )
    arm = arms.parse(parts["arm"])
    usual = "operators" if parts["model"] in models.operators() else "latency"
    scenario = parts.get("scenario", usual)
    if scenario in scenarios.NAMES and scenario not in PROFILED:
        raise LevelfieldError(
            _not_profiled(scenario),
            fix=f"Explain {arm.id}/{parts['model']}/{usual} instead; {', '.join(PROFILED)} can be.",
        )
    operators = scenario in scenarios.NAMES and scenarios.get(scenario).operators
    if operators and parts["model"] in plan.names_of_models():
        raise LevelfieldError(
            f"{parts['model']} is a network: each of its operators is a result of its own.",
            fix=f"Explain {arm.id}/{parts['model']}/latency, or an operator that `levelfield list` shows.",
        )
    _on_cpu(text, arm, parts.get("device", "cpu"))
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
        raise LevelfieldError(
            f"{scenario} is measured at batch {block.case.batch} alone.",
            fix=f"Leave /b{batch} out"
            + ("." if operators else f", or ask for throughput/{block.case.precision}/b{batch}."),
        )
    single = msgspec.structs.replace(made, blocks=(block,))
    return ExplainRequest(id=f"{arm.id}/{block.case.id}", arm=block.arms[0], case=block.case, plan=single)


def _not_profiled(scenario: str) -> str:
    if scenarios.get(scenario).decodes:
        return f"{scenario} is not profiled here: several profilers load the model a second time, with another cache."
    return f"{scenario} is not a matter of operators, or not of the CPU's."


def _on_cpu(text: str, arm: Arm, device: str) -> None:
    if device not in {"cpu", "cuda"}:
        raise LevelfieldError(f"There is no device {device!r} in {text!r}.", fix="It ends with cpu.")
    if device != "cpu" or arm.variant != "cpu":
        raise LevelfieldError(
            "Operators are explained on the CPU only in this version.",
            fix="Leave the CUDA variant out, and let it end with /cpu.",
        )


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
    """Profile two arms of a case in turns, each time in fresh launches.

    Raises LevelfieldError: one of them could not be launched, loaded or profiled.
    """
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
