"""What a record says against itself: it holds some conclusions beside what they follow from, and these must agree."""

import bisect
import contextlib
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

import click
import msgspec
from packaging.utils import canonicalize_version

from levelfield.analysis.collect import launches, turns
from levelfield.analysis.status import AB
from levelfield.compare import answers
from levelfield.compatibility.libraries import not_held
from levelfield.errors import one_line
from levelfield.images.catalogue import stem
from levelfield.machine.counters import TICK_NS
from levelfield.machine.disturbance import FLOOR_TICKS, SHARES, reasons, values
from levelfield.options.registry import MARGIN, MAX_SLOWDOWN, typed
from levelfield.record import states
from levelfield.record.bounds import SAMPLES_KEPT
from levelfield.record.references import split_python
from levelfield.record.schema import (
    Absent,
    Arm,
    Block,
    Case,
    Generation,
    Image,
    Launch,
    MachineProbe,
    OwnFile,
    Round,
    Run,
    Turn,
    Window,
)
from levelfield.record.warnings import BUDGET_SPENT, JOURNAL_DAMAGED
from levelfield.zoo.training.convergence import GOALS

_ROUNDING = 1e-6
_VERSION = re.compile(r"\d+(\.\w+)+")
"""Of a framework: the name of a lock may also be that of a mixed one, or of one that a user wrote."""
_BEFORE_MEASURING = ("image", "launch", "load")
FEWEST_WINDOWS = 10
LEAST_FILLED = 0.75
"""Share of its median window that an arm's calls take at least, and of what the supervisor waited that windows do: of
published runs 0.94. Under contention single windows fall to 0.5."""
_AROUND_A_CALL_NS, _AROUND_A_WINDOW_NS = 5_000, 2_000_000
"""What may pass between two calls, and between a request and its answer, on a slow machine."""
LEAST_MEMORY_BYTES = 1 << 22
"""Of a process that runs Python."""
_SLACK_S = 2.0
"""Of moments that are written in whole seconds."""


def of(run: Run) -> Iterator[str]:
    """Yield each contradiction as a clause, with the place where it is."""
    for label, known in (
        ("injected", any(arm.inject for block in run.blocks for arm in block.arms)),
        ("smoke", run.settings.profile == "smoke"),
    ):
        if known != (label in run.labels):
            yield f"the label {label!r} {'is missing' if known else 'has no reason'}"
    profile = run.settings.profile
    if run.command[1:2] == ("ab",) and AB not in run.labels:
        yield "the label 'ab' is missing"
    if AB in run.labels and not (profile == "smoke" or run.settings.ends_on_verdict or run.settings.precision_target):
        yield "a comparison that does not end with its verdict"
    if typed(run.command).get("--profile", [profile])[-1:] != [profile]:
        yield f"the command asks for another profile than {one_line(profile)}"
    yield from _checked("options", _options(run))
    yield from _imported(run)
    if run.imported is None:
        for scenario in sorted({*run.settings.scenarios} - {block.case.scenario for block in run.blocks}):
            yield f"{one_line(scenario)} was to be measured, and there is no case of it"
    yield from _checked("answers", answers.of_data_sets(run))
    if run.settings.own is not None:
        yield from _own_file(run, run.settings.own)
    for block in run.blocks:
        name = one_line(block.case.id)
        found = itertools.chain(_plan(run, block) if run.imported is None else (), _block(run, block))
        yield from (f"{name}: {said}" for said in dict.fromkeys(_checked("results", found)))
    yield from _checked("times", _times(run))
    if run.imported is None:
        yield from _checked("states of the machine", _levels(run))
        yield from _checked("images", _images(run))
        yield from dict.fromkeys(_copies(run))


def _checked(what: str, found: Iterable[str]) -> Iterator[str]:
    """Yield what a check finds, and name what it cannot check: no record that was measured ends a check."""
    try:
        yield from found
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        yield f"{what} that cannot be checked: {one_line(str(error))[:100]}"


def _block(run: Run, block: Block) -> Iterator[str]:
    known = {arm.id for arm in block.arms} | {block.canary}
    own = [launch for _, launch in launches(block) if launch.arm != block.canary and not _failed(launch)]
    digests = {(0, each.inputs_sha256) for each in own} | {
        (each.timed_inputs, each.timed_inputs_sha256) for each in own
    }
    if max(Counter(count for count, sha256 in digests if sha256).values(), default=0) > 1:
        yield "arms with different inputs"
    if answers.differ(block, run.settings.own):
        yield "arms with different tolerances"
    weights = {each.weights_sha256 for each in own if each.weights_sha256}
    stated = {each.sha256 for each in run.artifacts if each.name == f"{block.case.model} weights"}
    if len(weights) > 1:
        yield "arms with different weights"
    elif stated and not block.case.converges and not weights <= stated:
        yield "arms with other weights than those of the run"
    ran = {(each.arm, each.framework_version, each.onnx_sha256) for each in own}
    for arm in sorted(name for name, count in Counter(name for name, *_ in ran).items() if count > 1):
        yield f"launches of {one_line(arm)} in several versions, or of several model files"
    for arm in sorted(arm.id for arm in block.arms):
        shares = _filled(block, arm) if run.imported is None else []
        if len(shares) >= FEWEST_WINDOWS and shares[len(shares) // 2] < LEAST_FILLED:
            yield f"windows of {one_line(arm)} that are longer than their calls"
        waited = _awaited(block, arm) if block.case.device == "cpu" else []
        if len(waited) >= FEWEST_WINDOWS and waited[len(waited) // 2] < LEAST_FILLED:
            yield f"windows of {one_line(arm)} that are shorter than the supervisor waited for them"
    yield from answers.trained(run, block)
    asked = {arm.id: _version_of(arm.version or "") for arm in block.arms}
    for generation in block.generations:
        failed = {launch.arm for launch in generation.launches if _failed(launch)}
        compared = {each.arm: each.parity is not None or each.arm == block.canary for each in generation.launches}
        if {each.arm for each in generation.launches} - known:
            yield "a launch of an arm that it does not have"
        for launch in generation.launches:
            yield from _launch(block, launch)
            version = _public(launch.framework_version)
            if asked.get(launch.arm) and version and canonicalize_version(version) != asked[launch.arm]:
                yield f"a launch of {one_line(launch.arm)} in version {one_line(launch.framework_version)}"
            yield from _cold(block, launch) if run.imported is None else ()
            yield from answers.of(block, launch, own=run.settings.own is not None)
        for turn in (each for round_ in generation.rounds for each in round_.turns):
            if turn.arm not in known:
                yield "a window of an arm that it does not have"
            if turn.window is not None and (turn.failure is not None or turn.arm in failed):
                yield f"a window of {one_line(turn.arm)}, which failed"
            if turn.window is None or run.imported is not None:
                continue
            if turn.arm not in compared:
                yield f"a window of {one_line(turn.arm)} without its launch"
            elif not compared[turn.arm] and not block.case.trains:  # of these the first few are
                yield f"a window of {one_line(turn.arm)}, whose answer was not compared"
            if not turn.window.samples_ns:
                yield f"a window of {one_line(turn.arm)} without a call"
            if _too_short(turn.window):
                yield f"a window of {one_line(turn.arm)} that is shorter than its calls"
            if turn.window.user_ns + turn.window.system_ns > _most_cpu_ns(turn.window, len(run.settings.cpus)):
                yield f"a window of {one_line(turn.arm)} that is shorter than its time of the CPUs"
        for round_ in generation.rounds:
            yield from _disturbed(round_, len(run.settings.cpus))


def _options(run: Run) -> Iterator[str]:
    """Yield what decides a verdict and is not what was typed, the last of several."""
    for option, known in ((MARGIN, run.settings.margin), (MAX_SLOWDOWN, run.settings.max_slowdown)):
        asked = typed(run.command).get(option.opts[0], [])[-1:]
        if not asked and run.command[1:2] in (("ab",), ("bench",)):  # no file sets either
            asked = [option.default] if isinstance(option.default, str) else []
            if known is not None and not asked:
                yield f"the command asks for no {option.opts[0]}, and the settings have one"
        with contextlib.suppress(click.BadParameter):  # nobody can have typed it
            if asked and known is not None and option.type.convert(asked[0], None, None) != known:
                yield f"the command asks for another {option.opts[0]} than the settings"


def _imported(run: Run) -> Iterator[str]:
    """Yield what no file of another tool holds, in a run that says it was made of one, and the reverse."""
    if run.imported is None:
        if any(block.case.imported for block in run.blocks):
            yield "cases of another tool, in a run that was made of no file of one"
        return
    generations = [generation for block in run.blocks for generation in block.generations]
    bare = all(
        each == Launch(arm=each.arm, started=each.started, failure=each.failure)
        for generation in generations
        for each in generation.launches
    ) and all(
        each == Turn(arm=each.arm, window=each.window, failure=each.failure)
        for generation in generations
        for round_ in generation.rounds
        for each in round_.turns
    )
    if run.images or not bare or any(not block.case.imported or len(block.arms) != 1 for block in run.blocks):
        yield f"it holds what no file of {one_line(run.imported.tool)} does, and is said to be made of one"


def _own_file(run: Run, own: OwnFile) -> Iterator[str]:
    """Yield what is said of a user's own file, and is not what was measured: each of its sizes or functions is."""
    measured = {block.case.model for block in run.blocks}
    names = [each.model for each in own.sized]
    asked = [(each.function, tuple(sorted(each.dimensions.items()))) for each in own.sized]
    if max(*Counter(names).values(), *Counter(asked).values()) > 1:
        yield f"{one_line(own.file)} with the same sizes or function twice"
    for name in sorted(measured ^ {*names}):
        known = "measured, and not" if name in measured else "not measured, and"
        yield f"{one_line(name)} is {known} of {one_line(own.file)}"


def _plan(run: Run, block: Block) -> Iterator[str]:
    """Yield what was asked for and is not there, without a reason; no record says which backends train or decode."""
    case, known = block.case, block.generations
    ordered = tuple(dict.fromkeys(msgspec.structs.replace(arm, ordinal=1).id for arm in block.arms))
    if AB in run.labels and ordered != run.settings.backends:
        yield "its sides are not those of the settings, or in another order"
    arms = {*ordered}
    named, reasons = set(run.settings.backends), {warning.code for warning in run.warnings}
    whole = not case.learns and not case.definition.decodes
    if wrong := arms ^ named if whole else arms - named:
        yield f"its arms are not the backends of the settings, by {one_line(', '.join(sorted(wrong)))}"
    asked = run.settings
    for said, among in (
        (case.model, () if case.definition.operators or case.converges else asked.models),
        (case.scenario, asked.scenarios),
        (case.precision, asked.precisions),
    ):
        if among and said not in among:
            yield f"{one_line(said)}, for which the settings do not ask"
    if case.batch not in _batches(run, case):
        yield f"a batch of {case.batch}, for which the settings do not ask"
    if case.device not in {"cpu", "cuda"}:
        yield f"it is of no device: {one_line(case.device)}"
    elif case.device != "cpu" and asked.gpu is None:
        yield f"it is of the device {one_line(case.device)}, and no GPU was used"
    if case.threads * case.processes > len(run.settings.cpus):
        yield f"more threads than the CPUs of the run, of which there are {len(run.settings.cpus)}"
    if whole and "--inject" in typed(run.command) and "injected" not in run.labels:
        yield "the command asks for a slowdown, and the label 'injected' is missing"
    if [each.index for each in known] != [*range(len(known))]:
        yield "generations out of order, or some are missing"
    if block.left and not run.settings.races:
        yield "arms that were left out, in a run that leaves none out"
    planned = block.planned_generations  # of any size, in an untrusted record
    whole_ones = (each for each in known if each.complete or run.resumed)  # what was cut off is not made again
    lacking = planned - sum(0 <= each.index < planned for each in whole_ones)
    if planned < 1:
        yield "no generation is planned"
    if run.settings.budget_seconds is None and not run.resumed:
        reasons -= {BUDGET_SPENT}
    if lacking > 0 and run.finished is not None and reasons.isdisjoint({BUDGET_SPENT, JOURNAL_DAMAGED}):
        yield f"{lacking} of {planned} generations are missing, and nothing says why"
    ever_failed: set[str] = set()
    for generation in known:
        failed = {each.arm for each in generation.launches if each.failure is not None}
        failed |= {turn.arm for each in generation.rounds for turn in each.turns if turn.failure is not None}
        launched = {each.arm for each in generation.launches}
        absent = {arm.id for arm in block.arms} - launched - ever_failed
        if absent and generation.complete and not (run.resumed or run.settings.races):
            yield f"generation {generation.index} without {one_line(', '.join(sorted(absent)))}, which did not fail"
        ever_failed |= failed
        if [each.index for each in generation.rounds] != [*range(len(generation.rounds))]:
            yield f"generation {generation.index} lacks rounds"
        alive = launched - failed - {block.canary}  # which may be lost between two windows
        # Arms that a GPU's memory does not hold at once take turns in groups.
        groups = {frozenset(alive & {turn.arm for turn in each.turns}) for each in generation.rounds}
        measured = set[str]().union(*groups)
        whole_groups = sum(map(len, groups)) == len(measured) and all(each.turns for each in generation.rounds)
        if not whole_groups or (generation.rounds and generation.complete and measured != alive):
            yield f"generation {generation.index} lacks windows of arms that did not fail"


def _batches(run: Run, case: Case) -> tuple[int, ...]:
    """Return the batches that a case may have, by the settings."""
    scenario, asked = case.definition, run.settings
    if scenario.batched:
        return asked.batches.get(case.model, (scenario.batch,))
    if scenario.trains:
        return asked.training_batches.get(case.model, (scenario.batch,))
    if scenario.decodes:
        return asked.decoding_batches.get(case.model, (1,))
    return (GOALS[case.model].batch if case.converges and case.model in GOALS else scenario.batch,)


def _images(run: Run) -> Iterator[str]:
    """Yield which images no arm has, which arms no image, and what an image does not hold."""
    own = run.settings.launcher
    arms = [Arm("canary", "canary"), *(arm for block in run.blocks for arm in block.arms)]
    used = {(arm.image, stem(arm.variant, arm.version), arm.launcher or own) for arm in arms}
    yield from dict.fromkeys(said for block in run.blocks for said in _without_image(run, block))
    for image in run.images:
        name = one_line(f"{image.name} {image.variant}")
        of_reference = run.settings.own is not None and image.launcher in {place for *_, place in used}
        if not of_reference and (image.name, image.variant, image.launcher) not in used:
            yield f"the image {name} is of the launcher {image.launcher}, which no arm has"
        if bool(image.unlocked) != (image.launcher == "host"):
            yield f"the image {one_line(image.name)} of the launcher {image.launcher} is said to be locked otherwise"
        version = _version_of(image.variant.partition("@")[2])
        held = {canonicalize_version(_public(each)) for each in image.distributions.values()}
        if held and version and version not in held:
            yield f"the image {name} does not hold that version"


def _without_image(run: Run, block: Block) -> Iterator[str]:
    """Yield which arms ran in nothing that is recorded, or as a version that is not in their images."""
    own = run.settings.launcher
    arms = {arm.id: arm for arm in block.arms}
    of_place: dict[tuple[str, str, str], list[Image]] = {}
    for image in run.images:
        of_place.setdefault((image.name, image.variant, image.launcher), []).append(image)
    known = {
        place: {name: version for image in images for name, version in image.distributions.items()}
        for place, images in of_place.items()
    }
    seen: set[tuple[object, ...]] = set()
    for _, launch in launches(block):
        arm = arms.get(launch.arm)
        if arm is None or _failed(launch):
            continue
        ran_in = (arm.image, stem(arm.variant, arm.version), arm.launcher or own)
        images, held = of_place.get(ran_in, []), known.get(ran_in, {})
        if (said_once := (arm.id, launch.framework_version, launch.libraries)) in seen:
            continue  # the check takes as long as the image holds distributions
        if not images:
            yield f"a launch of {one_line(launch.arm)} without an image"
        elif not held and (run.finished is None or launch.memory is None or launch.failure is not None):
            continue  # what an image holds is listed at the end of its first generation, by the first that is probed
        elif not all(image.unlocked for image in images):
            seen.add(said_once)
            for said in not_held(launch.framework_version, launch.libraries, held):
                yield f"{one_line(launch.arm)} {one_line(said)}, which its image does not hold"


def _times(run: Run) -> Iterator[str]:
    """Yield times that no clock has shown in this order, or that do not suffice for the windows in them."""
    starts = (launch.started for block in run.blocks for _, launch in launches(block))
    said = (run.started, *run.resumed, *starts, *([] if run.finished is None else [run.finished]))
    if any(datetime.fromisoformat(moment).tzinfo is None for moment in said):
        yield "a time without its zone"
    began, *moments = map(_moment, said)
    ended = moments[-1] if run.finished is not None else max((began, *moments))
    lasted_s = (ended - began).total_seconds()
    if max(ended, began) > datetime.now(UTC) + timedelta(days=1):
        yield "a time that is yet to come, by the clock of this machine"
    if run.imported is not None:
        return
    if not all(began <= moment <= ended for moment in moments):
        yield "a launch outside of the time of the run"
    total = run.machine.get("memory", {}).get("total bytes")
    for block in run.blocks:
        for _, launch in launches(block):
            peak = launch.memory.peak_rss_bytes if launch.memory is not None else None
            if isinstance(total, int) and isinstance(peak, int) and peak > total * block.case.processes:
                yield f"more memory of {one_line(launch.arm)} than the machine has"
            if _alone_s(launch) > answers.CLOCKS_AGREE * lasted_s + _SLACK_S:
                yield f"a launch of {one_line(launch.arm)} that took longer than the run"
    windows_s = _windows_s(turn for block in run.blocks for *_, turn in turns(block))
    if run.finished is not None and windows_s > answers.CLOCKS_AGREE * lasted_s + _SLACK_S:
        yield f"windows of {windows_s:.0f} s in a run of {lasted_s:.0f} s"
    for block in () if JOURNAL_DAMAGED in {warning.code for warning in run.warnings} else run.blocks:
        made = [
            (each.index, min(map(_moment, of_arms)), _windows_s(turn for one in each.rounds for turn in one.turns))
            for each in block.generations
            # What measures how a launch begins shares only some of its launches, in another order.
            if block.case.timed and (of_arms := [one.started for one in each.launches if one.arm != block.canary])
        ]
        for (index, first, lasted_s), (number, second, _) in itertools.pairwise(made):
            if lasted_s > answers.CLOCKS_AGREE * (second - first).total_seconds() + _SLACK_S:
                yield f"{one_line(block.case.id)}: generation {number} began before {index} can have ended"


def _moment(text: str) -> datetime:
    return (read := datetime.fromisoformat(text)).replace(tzinfo=read.tzinfo or UTC)


def _alone_s(launch: Launch) -> float:
    """Return how long a launch measured before and beside its windows."""
    start, trained, driven = launch.startup, launch.convergence, launch.loadgen
    known = (start.start_ns, start.import_ns, start.load_ns, start.first_call_ns) if start is not None else ()
    spent_ns = sum(each for each in known if isinstance(each, int))
    spent_ns += trained.points[-1].elapsed_ns if trained is not None and trained.points else 0
    spent_ns += sum(test.elapsed_ns for test in driven.tests) if driven is not None else 0
    return spent_ns / 1e9


def _windows_s(taken: Iterable[Turn]) -> float:
    return sum(turn.window.window_ns for turn in taken if turn.window is not None) / 1e9


def _copies(run: Run) -> Iterator[str]:
    """Yield which measurements are others again, to the nanosecond; one launch of the canary serves the whole run."""
    seen: set[object] = set()
    for block in run.blocks:
        own = [launch for _, launch in launches(block) if launch.arm != block.canary]
        fresh = [(launch.arm, launch.startup) for launch in own if launch.startup and launch.startup.start_ns]
        windows = [(turn.arm, turn.window) for *_, turn in turns(block) if turn.window is not None]
        tests = [(each.arm, msgspec.json.encode(test)) for each in own if each.loadgen for test in each.loadgen.tests]
        trained = [(each.arm, each.convergence.points) for each in own if each.convergence and each.convergence.points]
        for arm, measured in (*fresh, *windows, *tests, *trained):
            if measured in seen:
                yield f"{one_line(block.case.id)}: {one_line(arm)} is measured twice to the nanosecond"
            seen.add(measured)


def _failed(launch: Launch) -> bool:
    """Return whether it failed before it could measure."""
    return launch.failure is not None and launch.failure.stage in _BEFORE_MEASURING


def _cold(block: Block, launch: Launch) -> Iterator[str]:
    start = launch.startup
    if block.case.definition.sample == "cold start" and launch.failure is None:
        warm = launch.served or launch.cache_warm
        if warm or start is None or not start.start_ns or isinstance(start.first_call_ns, Absent):
            yield f"a cold start of {one_line(launch.arm)} that is none"


def _version_of(reference: str) -> str:
    """Return the version of a framework that a reference names, in its canonical form; empty: it names none."""
    version = split_python(reference)[0] or ""
    return canonicalize_version(version) if _VERSION.fullmatch(version) else ""


def _public(version: str) -> str:
    return version.partition("+")[0]


def _launch(block: Block, launch: Launch) -> Iterator[str]:
    """Yield what its process cannot have been, or was not asked to be."""
    memory = launch.memory
    sizes = () if memory is None else (memory.peak_rss_bytes, memory.rss_bytes, *memory.device_bytes.values())
    if any(isinstance(each, int) and each < 0 for each in sizes):
        yield f"less than no memory of {one_line(launch.arm)}"
    if memory is not None and isinstance(least := memory.peak_rss_bytes, int) and 0 <= least < LEAST_MEMORY_BYTES:
        yield f"less memory of {one_line(launch.arm)} than Python takes"
    if memory is None and launch.failure is None and block.case.definition.sample == "peak memory":
        yield f"a launch of {one_line(launch.arm)} whose memory was not read"
    peak, held = (0, 0) if memory is None else (memory.peak_rss_bytes, memory.rss_bytes)
    if isinstance(peak, int) and isinstance(held, int) and held > answers.CLOCKS_AGREE * peak:
        yield f"more memory of {one_line(launch.arm)} than at its peak"
    if launch.arm == block.canary:
        return
    if otherwise := block.case.otherwise(launch.settings):
        yield f"{one_line(launch.arm)} computed {otherwise}"


def _too_short(window: Window) -> bool:
    """Return whether its calls cannot lie in it.

    Of many calls an even share is kept, so that the others take as long as these; of each, what is above their median
    does not count.
    """
    if (
        min(window.samples_ns, default=0) < 0
        or window.calls_per_sample != 1
        or sum(window.samples_ns) > window.window_ns
    ):
        return True
    if not window.calls_not_kept:
        return False
    kept = len(window.samples_ns)
    typical_ns = max(sorted(window.samples_ns)[kept // 2], 1) if kept else 1
    least_ns = sum(min(each, typical_ns) for each in window.samples_ns) / max(kept, 1) * window.calls
    return kept < SAMPLES_KEPT or least_ns > answers.CLOCKS_AGREE * window.window_ns


def _filled(block: Block, arm: str) -> list[float]:
    """Return which share of each window its calls take, sorted: next to all of it, where neighbours leave it alone."""
    windows = [turn.window for *_, turn in turns(block) if turn.arm == arm and turn.window is not None]
    return sorted(
        (sum(each.samples_ns) / len(each.samples_ns) + _AROUND_A_CALL_NS) * each.calls / each.window_ns
        for each in windows
        if each.samples_ns and each.window_ns > 0
    )


def _awaited(block: Block, arm: str) -> list[float]:
    """Return which share of what the supervisor waited each probed window takes, with the calls before it, sorted."""
    taken = [turn for *_, turn in turns(block) if turn.arm == arm and isinstance(turn.probed_before, MachineProbe)]
    return sorted(
        (each.window.window_ns + sum(each.window.rewarm_ns) + _AROUND_A_WINDOW_NS) / each.noise.elapsed_ns
        for each in taken
        if each.window is not None and each.noise is not None and each.noise.elapsed_ns > 0
    )


def _most_cpu_ns(window: Window, cpus: int) -> float:
    """Return what CPUs give to a window and the calls before it; their clocks step by ticks."""
    whole_ns = window.window_ns + sum(window.rewarm_ns)
    return cpus * (answers.CLOCKS_AGREE * whole_ns + FLOOR_TICKS * TICK_NS) if cpus else math.inf


def _disturbed(taken: Round, cpus: int) -> Iterator[str]:
    """Yield disturbances that the noise of a round's windows does not show, and noise that is called none."""
    for reason in (*taken.disturbed, *(each for turn in taken.turns for each in turn.outside)):
        if reason.limit is not None and reason.value <= reason.limit:
            yield f"{one_line(reason.signal)} disturbed it within its limit"
    noises = [turn.noise for turn in taken.turns if turn.noise is not None]
    if not noises or not cpus:
        return
    alone, whole = [values((noise,), cpus) for noise in noises], values(noises, cpus)
    most = {signal: max(one[signal] for one in alone) if signal in SHARES else whole[signal] for signal in whole}
    said = {reason.signal: reason.value for reason in taken.disturbed}
    shown = [{each.signal for each in reasons((turn.noise,), cpus)} if turn.noise else set() for turn in taken.turns]
    seen = {each.signal for each in reasons(noises, cpus)}.union(*shown)
    for signal, value in said.items():
        if signal not in seen or value > most[signal] * (1 + _ROUNDING):
            yield f"round {taken.index} is said to be disturbed by {one_line(signal)}, and no window of it was"
    always = set.intersection(*(each for each, turn in zip(shown, taken.turns, strict=True) if turn.noise))
    if unsaid := always - said.keys():
        yield f"round {taken.index} is not said to be disturbed by {min(unsaid)}, and every window of it was"
    for turn, signals in zip(taken.turns, shown, strict=True):
        if isinstance(turn.probed_before, MachineProbe) and {each.signal for each in turn.outside} != signals:
            yield f"a window of {one_line(turn.arm)} was disturbed otherwise than its noise shows"


def _levels(run: Run) -> Iterator[str]:
    """Yield levels of the machine that the probes until then do not have.

    Of the probes that a window waited after, arithmetic alone is recorded, and earlier runs may have known lower modes.
    """
    if JOURNAL_DAMAGED in {warning.code for warning in run.warnings}:
        return
    every = [generation for block in run.blocks for generation in block.generations]
    known = [(min(one.started for one in each.launches), each.levels, each) for each in every if each.launches]
    made: dict[str, list[int]] = {part: [] for part in MachineProbe.__struct_fields__}
    unseen = sum(len(states.probes_of(_turns(each))) for each in every if each.levels is None)
    for _, said, generation in sorted(known, key=lambda each: (each[0], each[1].probes if each[1] else 0)):
        if said is None:
            continue
        for probe in (*generation.looked, *states.probes_of(_turns(generation))):
            for part, times_ns in made.items():
                bisect.insort(times_ns, getattr(probe, part))
        unseen += sum(len(turn.polled_ns) + (turn.failure is not None) for turn in _turns(generation))
        yield from states.unlike(said, made, unseen)


def _turns(generation: Generation) -> Iterator[Turn]:
    return itertools.chain.from_iterable(taken.turns for taken in generation.rounds)
