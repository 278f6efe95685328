"""What a record says against itself: it holds some conclusions beside what they follow from, and these must agree."""

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
from levelfield.compare import ab
from levelfield.errors import one_line
from levelfield.images.catalogue import stem
from levelfield.machine.disturbance import SHARES, reasons, values
from levelfield.options.registry import MARGIN, MAX_SLOWDOWN, typed
from levelfield.record.disturbance import Disturbed
from levelfield.record.measured import MachineProbe
from levelfield.record.references import split_python
from levelfield.record.schema import (
    Absent,
    Arm,
    Block,
    Case,
    Launch,
    LoadGenTest,
    OwnFile,
    Parity,
    Round,
    Run,
    Turn,
    Window,
)
from levelfield.record.warnings import BUDGET_SPENT, JOURNAL_DAMAGED
from levelfield.share import tolerances
from levelfield.zoo.training.convergence import GOALS

CENTRED = 2.5
"""How far a centred error could be over the tolerance below fp32, in records that do not say it."""
CLOCKS_AGREE, SLACK_S = 1.05, 2.0
"""Of the clock of a worker, and of moments that are written in whole seconds."""
ROUNDING = 1e-6
_CANARY = Case("canary", "latency", "fp32", 1, 1)
_VERSION = re.compile(r"\d+(\.\w+)+")
"""Of a framework: the name of a lock may also be that of a mixed one, or of one that a user wrote."""
_BEFORE_MEASURING = ("image", "launch", "load")


def of(run: Run) -> Iterator[str]:
    """Yield each contradiction as a clause, with the place where it is."""
    for label, known in (
        ("injected", any(arm.inject for block in run.blocks for arm in block.arms)),
        ("smoke", run.settings.profile == "smoke"),
    ):
        if known != (label in run.labels):
            yield f"the label {label!r} {'is missing' if known else 'has no reason'}"
    profile = run.settings.profile
    if ab.LABEL in run.labels and not (
        profile == "smoke" or run.settings.ends_on_verdict or run.settings.precision_target
    ):
        yield "a comparison that does not end with its verdict"
    if typed(run.command).get("--profile", [profile])[-1:] != [profile]:
        yield f"the command asks for another profile than {one_line(profile)}"
    yield from _checked("options", _options(run))
    yield from _imported(run)
    yield from _checked("answers", _answers(run))
    if run.settings.own is not None:
        yield from _own(run, run.settings.own)
    for block in run.blocks:
        name = one_line(block.case.id)
        found = itertools.chain(_plan(run, block) if run.imported is None else (), _block(run, block))
        yield from (f"{name}: {said}" for said in dict.fromkeys(_checked("results", found)))
    yield from _checked("times", _times(run))
    if run.imported is None:
        yield from _checked("images", _images(run))
        yield from dict.fromkeys(_copies(run))


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


def _own(run: Run, own: OwnFile) -> Iterator[str]:
    """Yield what is said of a user's own file, and is not what was measured: each of its sizes or functions is."""
    measured = {block.case.model for block in run.blocks}
    names = [each.model for each in own.sized]
    asked = [(each.function, tuple(sorted(each.dimensions.items()))) for each in own.sized]
    if max(*Counter(names).values(), *Counter(asked).values()) > 1:
        yield f"{one_line(own.file)} with the same sizes or function twice"
    for name in sorted(measured ^ {*names}):
        known = "measured, and not" if name in measured else "not measured, and"
        yield f"{one_line(name)} is {known} of {one_line(own.file)}"


def _checked(what: str, found: Iterable[str]) -> Iterator[str]:
    """Yield what a check finds, and name what it cannot check: no record that was measured ends a check."""
    try:
        yield from found
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        yield f"{what} that cannot be checked: {one_line(str(error))[:100]}"


def _images(run: Run) -> Iterator[str]:
    own = run.settings.launcher
    arms = [Arm(_CANARY.model, _CANARY.model), *(arm for block in run.blocks for arm in block.arms)]
    used = {(arm.image, stem(arm.variant, arm.version), arm.launcher or own) for arm in arms}
    yield from dict.fromkeys(said for block in run.blocks for said in _without_image(run, block))
    for image in run.images:
        name = one_line(f"{image.name} {image.variant}")
        of_reference = run.settings.own is not None and image.launcher in {place for *_, place in used}
        if not of_reference and (image.name, image.variant, image.launcher) not in used:
            yield f"the image {name} is of the launcher {image.launcher}, which no arm has"
        if bool(image.unlocked) != (image.launcher == "host"):
            yield f"the image {one_line(image.name)} of the launcher {image.launcher} is said to be locked otherwise"
        version = split_python(image.variant.partition("@")[2])[0] or ""
        held = {canonicalize_version(each.partition("+")[0]) for each in image.distributions.values()}
        if held and _VERSION.fullmatch(version) and canonicalize_version(version) not in held:
            yield f"the image {name} does not hold that version"


def _without_image(run: Run, block: Block) -> Iterator[str]:
    """Yield which arms ran in nothing that is recorded, or as a version that is not in their images."""
    own = run.settings.launcher
    arms = {arm.id: arm for arm in block.arms}
    for _, launch in launches(block):
        arm = arms.get(launch.arm)
        if arm is None or _failed(launch):
            continue
        ran_in = (arm.image, stem(arm.variant, arm.version), arm.launcher or own)
        images = [each for each in run.images if (each.name, each.variant, each.launcher) == ran_in]
        held = {version.partition("+")[0] for image in images for version in image.distributions.values()}
        version = launch.framework_version
        if not images:
            yield f"a launch of {one_line(launch.arm)} without an image"
        elif not held and run.finished is None:
            continue  # what an image holds is listed at the end of its first generation
        elif not all(image.unlocked for image in images):
            if version and version.partition("+")[0] not in held:
                yield f"{one_line(launch.arm)} in version {one_line(version)}, which its image does not hold"
            packages = {name.replace("-", "_") for image in images for name in image.distributions}
            frameworks = {each.path.partition("/")[0] for each in launch.libraries if each.kind == "framework"}
            if not all(any(each.startswith(top) for each in packages) for top in frameworks):
                yield f"{one_line(launch.arm)} loaded {one_line(', '.join(frameworks))}, which its image does not hold"


def _times(run: Run) -> Iterator[str]:
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
    windows_s = _windows_s(turn for block in run.blocks for *_, turn in turns(block))
    if run.finished is not None and windows_s > CLOCKS_AGREE * lasted_s + SLACK_S:
        yield f"windows of {windows_s:.0f} s in a run of {lasted_s:.0f} s"
    for block in () if JOURNAL_DAMAGED in {warning.code for warning in run.warnings} else run.blocks:
        made = [
            (each.index, min(map(_moment, of_arms)), _windows_s(turn for one in each.rounds for turn in one.turns))
            for each in block.generations
            # What measures how a launch begins shares only some of its launches, in another order.
            if block.case.timed and (of_arms := [one.started for one in each.launches if one.arm != block.canary])
        ]
        for (index, first, lasted_s), (number, second, _) in itertools.pairwise(made):
            if lasted_s > CLOCKS_AGREE * (second - first).total_seconds() + SLACK_S:
                yield f"{one_line(block.case.id)}: generation {number} began before {index} can have ended"


def _moment(text: str) -> datetime:
    return (read := datetime.fromisoformat(text)).replace(tzinfo=read.tzinfo or UTC)


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


def _plan(run: Run, block: Block) -> Iterator[str]:
    """Yield what was asked for and is not there, without a reason; no record says which backends train or decode."""
    case, known = block.case, block.generations
    arms = {msgspec.structs.replace(arm, ordinal=1).id for arm in block.arms}
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


def _block(run: Run, block: Block) -> Iterator[str]:
    known = {arm.id for arm in block.arms} | {block.canary}
    own = [launch for _, launch in launches(block) if launch.arm != block.canary and not _failed(launch)]
    digests = {(0, each.inputs_sha256) for each in own} | {
        (each.timed_inputs, each.timed_inputs_sha256) for each in own
    }
    if max(Counter(count for count, sha256 in digests if sha256).values(), default=0) > 1:
        yield "arms with different inputs"
    if tolerances.differ(block, run.settings.own):
        yield "arms with different tolerances"
    if len({each.weights_sha256 for each in own if each.weights_sha256}) > 1:
        yield "arms with different weights"
    yield from _trained(run, block)
    for generation in block.generations:
        failed = {launch.arm for launch in generation.launches if _failed(launch)}
        if {each.arm for each in generation.launches} - known:
            yield "a launch of an arm that it does not have"
        for launch in generation.launches:
            yield from _launch(block, launch, own=run.settings.own is not None)
        for round_ in generation.rounds:
            yield from _disturbed(round_.disturbed)
            yield from _unlike_noise(round_, len(run.settings.cpus))
            for turn in round_.turns:
                yield from _disturbed(turn.outside)
                if turn.arm not in known:
                    yield "a window of an arm that it does not have"
                if turn.window is not None and (turn.failure is not None or turn.arm in failed):
                    yield f"a window of {one_line(turn.arm)}, which failed"
                if turn.window is not None and run.imported is None and _too_short(turn.window):
                    yield f"a window of {one_line(turn.arm)} that is shorter than its calls"


def _failed(launch: Launch) -> bool:
    return launch.failure is not None and launch.failure.stage in _BEFORE_MEASURING


def _too_short(window: Window) -> bool:
    """Of calls that are not kept: an even share is, so that about half of all take as long as the median or longer."""
    if (
        min(window.samples_ns, default=0) < 0
        or window.calls_per_sample != 1
        or sum(window.samples_ns) > window.window_ns
    ):
        return True
    typical_ns = sorted(window.samples_ns)[len(window.samples_ns) // 2] if window.samples_ns else 1
    return window.calls_not_kept > 0 and window.calls * max(typical_ns, 1) / 2 > window.window_ns


def _unlike_noise(taken: Round, cpus: int) -> Iterator[str]:
    """Yield disturbances that the noise of a round's windows does not show, and noise that is called none."""
    noises = [turn.noise for turn in taken.turns if turn.noise is not None]
    if not noises or not cpus:
        return
    alone, whole = [values((noise,), cpus) for noise in noises], values(noises, cpus)
    most = {signal: max(one[signal] for one in alone) if signal in SHARES else whole[signal] for signal in whole}
    said = {reason.signal: reason.value for reason in taken.disturbed}
    for signal, value in said.items():
        if signal in most and value > most[signal] * (1 + ROUNDING):
            yield f"round {taken.index} is said to be disturbed by {one_line(signal)}, and no window of it was"
    shown = [{each.signal for each in reasons((turn.noise,), cpus)} if turn.noise else set() for turn in taken.turns]
    always = set.intersection(*(each for each, turn in zip(shown, taken.turns, strict=True) if turn.noise))
    if unsaid := always - said.keys():
        yield f"round {taken.index} is not said to be disturbed by {min(unsaid)}, and every window of it was"
    for turn, signals in zip(taken.turns, shown, strict=True):
        if isinstance(turn.probed_before, MachineProbe) and {each.signal for each in turn.outside} != signals:
            yield f"a window of {one_line(turn.arm)} was disturbed otherwise than its noise shows"


def _disturbed(found: Disturbed) -> Iterator[str]:
    for reason in found:
        if reason.limit is not None and reason.value <= reason.limit:
            yield f"{one_line(reason.signal)} disturbed it within its limit"


def _launch(block: Block, launch: Launch, *, own: bool) -> Iterator[str]:
    memory = launch.memory
    sizes = () if memory is None else (memory.peak_rss_bytes, memory.rss_bytes, *memory.device_bytes.values())
    if any(isinstance(each, int) and each < 0 for each in sizes):
        yield f"less than no memory of {one_line(launch.arm)}"
    for parity in filter(None, (launch.parity, launch.parity_after)):
        case, of_own = (_CANARY, False) if launch.arm == block.canary else (block.case, own)
        wrong = list(_errors(parity, case.precision, own=of_own)) if parity.equal else []
        if parity.equal and parity.computed_in not in {"", case.precision}:
            wrong.append(f"it is equal, computed in {one_line(parity.computed_in)}")
        mostly = launch.computed.mostly if launch.computed is not None else ""
        if parity.equal and case.precision == "fp32" and mostly not in {"", "fp32", "fp64"}:
            wrong.append(f"it is equal in fp32, with products in {one_line(mostly)}")
        wrong += tolerances.of(parity, case, own=of_own)
        wrong += list(_out_of_range(parity))
        wrong += ["it is not equal, for no reason"] if not parity.equal and not parity.reason else []
        yield from (f"the answer of {one_line(launch.arm)}: {said}" for said in wrong)
    if launch.parity and launch.parity_after and launch.parity.equal and not launch.parity_after.equal:
        yield f"the answer of {one_line(launch.arm)} is equal, and was not after its windows"
    driven = launch.loadgen
    for test in driven.tests if driven is not None else ():
        if test.valid == bool(test.why_invalid):
            yield f"a test of {one_line(launch.arm)} that is valid and invalid"
        if driven is None or driven.scenario != block.case.definition.driven_as:
            yield f"a test of {one_line(launch.arm)} in another scenario"
        elif unlike := ", ".join(dict.fromkeys(_unlike_loadgen(test, driven.scenario, driven.target_ns))):
            yield f"a test of {one_line(launch.arm)} of which LoadGen cannot have said: {one_line(unlike)}"


def _unlike_loadgen(test: LoadGenTest, scenario: str, target_ns: int | None) -> Iterator[str]:
    """Yield what is not in LoadGen's text, which has rates of six digits and no verdict on few queries, or in none."""
    pairs = (line.partition(":")[::2] for line in test.summary.splitlines()[:-1])
    said = {name.strip(): value.strip() for name, value in pairs}
    known = {f"{name} percentile latency (ns)": str(value) for name, value in test.percentiles_ns.items()}
    known |= {"Scenario": scenario} | ({} if target_ns is None else {"target_latency (ns)": str(target_ns)})
    if test.valid or said.get("Min queries satisfied") == "Yes":
        known["Result is"] = "VALID" if test.valid else "INVALID"
    yield from (name for name, value in known.items() if said.get(name, value) != value)
    for name, rate in (("Samples per second", test.per_second), ("target_qps", test.offered_per_second)):
        if isinstance(rate, float) and not math.isclose(float(said.get(name, rate)), rate, rel_tol=1e-4):
            yield name
    if test.queries > test.samples or (scenario in {"SingleStream", "Server"} and test.queries < test.samples):
        yield "samples"
    ordered = sorted(test.percentiles_ns.items(), key=lambda each: float(each[0]))
    behind = [(time_ns, test.queries - int(test.queries * float(name) / 100)) for name, time_ns in ordered]
    if any(first > second for (first, _), (second, _) in itertools.pairwise(behind)):
        yield "percentiles out of order"
    took_ns = [each * (n if scenario in {"SingleStream", "MultiStream"} else 1) for each, n in behind]
    took_ns += [round(1e9 * (test.samples - 1) / test.per_second)] if isinstance(test.per_second, float) else []
    if max(took_ns, default=0) > CLOCKS_AGREE * test.elapsed_ns:
        yield "elapsed time"
    if isinstance(late := test.late, int) and target_ns is not None:
        yield from ("late" for each, n in behind if (late < n - 1 if each > target_ns else late > n))


def _trained(run: Run, block: Block) -> Iterator[str]:
    known = [(at.index, launch.convergence) for at, launch in launches(block) if launch.convergence is not None]
    begun = {(index, each.seed, each.weights_sha256, each.inputs_sha256) for index, each in known}
    if any(seed != index for index, seed, *_ in begun) or len(begun) > len({index for index, _ in known}):
        yield "trainings that began otherwise than their generation's seed says"
    goals = {(each.network, each.limit, each.target) for _, each in known}
    if len(goals) > 1 or any(target != (run.settings.target or target) for *_, target in goals):
        yield "trainings with different targets"
    for _, each in known:
        taken = [(point.step, point.elapsed_ns, point.accuracy) for point in each.points]
        pairs = itertools.pairwise([(0, 0, 0.0), *taken, (each.limit + 1, math.inf, each.target)])
        if not all(a[0] < b[0] and a[1] < b[1] and 0 <= b[2] <= 1 for a, b in pairs):
            yield "evaluations that no training has"


def _out_of_range(parity: Parity) -> Iterator[str]:
    """Yield what no comparison of two outputs gives; the cosine of those whose distance is e is √(1 - e²) at least."""
    near = 1 - parity.tolerance if parity.equal and parity.tolerance < 1 else -1.0
    for what, value, least, most in (
        ("a cosine", parity.cosine, near, 1.0),
        ("a share", parity.top_1, 0.0, 1.0),
        ("an error", parity.max_abs_error, 0.0, math.inf),
    ):
        if isinstance(value, float) and not least - ROUNDING <= value <= most + ROUNDING:
            yield f"{what} of {value:.1e}"


def _errors(parity: Parity, precision: str, *, own: bool) -> Iterator[str]:
    """Yield why an answer that is called equal is not; of a user's `own` file numbers may move beyond their size."""
    if parity.inputs < 1:
        yield "it is equal, of no inputs"
    if parity.reason or isinstance(parity.relative_error, Absent):
        yield "it is equal, and says why it is not"
    centred: float | Absent = parity.centred_tolerance if own else parity.tolerance
    if precision != "fp32" and not own:
        recorded = parity.centred_tolerance
        centred = parity.tolerance * CENTRED if isinstance(recorded, Absent) else recorded
    checked: list[tuple[str, float | Absent, float | Absent, float]] = [
        ("relative error", parity.relative_error, parity.tolerance, 1.0),
        ("centred error", parity.centred_error, centred, 1.0),
        ("largest error of a number", parity.element_error, parity.element_tolerance, math.inf if own else 1.0),
    ]
    if parity.training is not None:
        errors, tolerances = map(msgspec.structs.asdict, (parity.training.errors, parity.training.tolerances))
        checked += [(f"training error of the {name}", errors[name], tolerances[name], 1.0) for name in errors]
    for what, error, limit, most in checked:
        if isinstance(error, float) and isinstance(limit, float) and not 0 <= error <= limit < most:
            yield f"it is equal with a {what} of {error:.1e}, where {limit:.1e} are allowed"


def _answers(run: Run) -> Iterator[str]:
    labels = {(each.task, each.model): each.labels for each in run.data_sets}
    arms = {arm.id for block in run.blocks for arm in block.arms}
    alike: dict[object, object] = {}
    for found in run.accuracies:
        true = labels.get((found.task, found.model), ())
        named, given = f"answers of {one_line(found.arm)} to {one_line(found.task)}", found.right
        judged = found.right, found.shares
        if found.arm not in arms:
            yield f"{named}, an arm that no case has"
        if found.answers and alike.setdefault((found.task, found.model, found.answers), judged) != judged:
            yield f"{named} that are those of another arm, and are judged otherwise"
        if any(not 0 <= share <= 1 for shares in found.shares.values() for share in shares):
            yield f"{named} of which more is right than all, or less than nothing"
        if any(map(float.__gt__, map(float, given.get("exact match", ())), found.shares.get("F1 of words", ()))):
            yield f"{named} that match exactly, and not word by word"
        first, near = given.get("top-1", ()), given.get("top-5", ())
        if {*itertools.chain(*given.values())} - {0, 1} or any(map(int.__gt__, first, near)):
            yield f"{named} that are neither right nor wrong, or right and not among the first five"
        if not true and given.keys() & {"top-1", "top-5", "accuracy"}:
            yield f"{named} that are called right without labels"
        for metric in ("top-1", "accuracy"):
            right = tuple(int(answer == label) for answer, label in zip(found.answers, true, strict=False))
            if right and given.get(metric, right) != right:
                yield f"{named} that are called right otherwise"
