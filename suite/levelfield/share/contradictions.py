"""What a record says against itself: it holds some conclusions beside what they follow from, and these must agree."""

import math
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from levelfield.analysis.collect import launches, turns
from levelfield.errors import one_line
from levelfield.images.catalogue import stem
from levelfield.record.disturbance import Disturbed
from levelfield.record.schema import Absent, Block, Case, Launch, OwnFile, Parity, Run, Window
from levelfield.share import tolerances

CENTRED = 2.5
"""How far a centred error could be over the tolerance below fp32, in records that do not say it."""
CLOCKS_AGREE, SLACK_S = 1.05, 2.0
"""Of the clock of a worker, and of moments that are written in whole seconds."""
_CANARY = Case("canary", "latency", "fp32", 1, 1)
_BEFORE_MEASURING = ("image", "launch", "load")


def of(run: Run) -> Iterator[str]:
    """Yield each contradiction as a clause, with the place where it is."""
    for label, known in (
        ("injected", any(arm.inject for block in run.blocks for arm in block.arms)),
        ("smoke", run.settings.profile == "smoke"),
    ):
        if known != (label in run.labels):
            yield f"the label {label!r} {'is missing' if known else 'has no reason'}"
    yield from _checked("answers", _answers(run))
    if run.settings.own is not None:
        yield from _own(run, run.settings.own)
    for block in run.blocks:
        name = one_line(block.case.id)
        yield from (f"{name}: {said}" for said in dict.fromkeys(_checked("results", _block(run, block))))
    if run.imported is None:
        yield from _checked("images", _images(run))
        yield from _checked("times", _times(run))


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


def _checked(what: str, found: Iterator[str]) -> Iterator[str]:
    """Yield what a check finds, and name what it cannot check: no record that was measured ends a check."""
    try:
        yield from found
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        yield f"{what} that cannot be checked: {one_line(str(error))[:100]}"


def _images(run: Run) -> Iterator[str]:
    own = run.settings.launcher
    used = {own} | {arm.launcher or own for block in run.blocks for arm in block.arms}
    yield from dict.fromkeys(said for block in run.blocks for said in _without_image(run, block))
    for image in run.images:
        if image.launcher not in used:
            yield f"the image {one_line(image.name)} is of the launcher {image.launcher}, which no arm has"
        if bool(image.unlocked) != (image.launcher == "host"):
            yield f"the image {one_line(image.name)} of the launcher {image.launcher} is said to be locked otherwise"


def _without_image(run: Run, block: Block) -> Iterator[str]:
    """Yield which arms ran in nothing that is recorded, or as a version that is not in their images."""
    own = run.settings.launcher
    arms = {arm.id: arm for arm in block.arms}
    for _, launch in launches(block):
        arm = arms.get(launch.arm)
        if arm is None or _failed(launch):
            continue
        images = [each for each in run.images if (each.name, each.launcher) == (arm.image, arm.launcher or own)]
        images = [each for each in images if each.variant == stem(arm.variant, arm.version)] or images
        held = {version.partition("+")[0] for image in images for version in image.distributions.values()}
        version = launch.framework_version
        if not images:
            yield f"a launch of {one_line(launch.arm)} without an image"
        elif not held and run.finished is None:
            continue  # what an image holds is listed at the end of its first generation
        elif version and not all(image.unlocked for image in images) and version.partition("+")[0] not in held:
            yield f"{one_line(launch.arm)} in version {one_line(version)}, which its image does not hold"


def _times(run: Run) -> Iterator[str]:
    starts = (launch.started for block in run.blocks for _, launch in launches(block))
    said = (run.started, *run.resumed, *starts, *([] if run.finished is None else [run.finished]))
    read = [datetime.fromisoformat(moment) for moment in said]
    if any(moment.tzinfo is None for moment in read):
        yield "a time without its zone"
    began, *moments = (moment if moment.tzinfo else moment.replace(tzinfo=UTC) for moment in read)
    ended = moments[-1] if run.finished is not None else max((began, *moments))
    lasted_s = (ended - began).total_seconds()
    if not all(began <= moment <= ended for moment in moments):
        yield "a launch outside of the time of the run"
    windows = (turn.window for block in run.blocks for *_, turn in turns(block))
    windows_s = sum(window.window_ns for window in windows if window is not None) / 1e9
    if run.finished is not None and windows_s > CLOCKS_AGREE * lasted_s + SLACK_S:
        yield f"windows of {windows_s:.0f} s in a run of {lasted_s:.0f} s"


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
    for generation in block.generations:
        failed = {launch.arm for launch in generation.launches if _failed(launch)}
        if {each.arm for each in generation.launches} - known:
            yield "a launch of an arm that it does not have"
        for launch in generation.launches:
            yield from _launch(block, launch, own=run.settings.own is not None)
        for round_ in generation.rounds:
            yield from _disturbed(round_.disturbed)
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


def _disturbed(reasons: Disturbed) -> Iterator[str]:
    for reason in reasons:
        if reason.limit is not None and reason.value <= reason.limit:
            yield f"{one_line(reason.signal)} disturbed it within its limit"


def _launch(block: Block, launch: Launch, *, own: bool) -> Iterator[str]:
    for parity in (launch.parity, launch.parity_after):
        if parity is None:
            continue
        canary = launch.arm == block.canary
        case, of_own = (_CANARY, False) if canary else (block.case, own)
        wrong = list(_errors(parity, case.precision, own=of_own)) if parity.equal else []
        wrong += tolerances.of(parity, case, own=of_own)
        wrong += ["it is not equal, for no reason"] if not parity.equal and not parity.reason else []
        yield from (f"the answer of {one_line(launch.arm)}: {said}" for said in wrong)
    before, after = launch.parity, launch.parity_after
    if before is not None and after is not None and before.equal and not after.equal:
        yield f"the answer of {one_line(launch.arm)} is equal, and was not after its windows"
    for test in launch.loadgen.tests if launch.loadgen is not None else ():
        if test.valid == bool(test.why_invalid):
            yield f"a test of {one_line(launch.arm)} that is valid and invalid"


def _errors(parity: Parity, precision: str, *, own: bool) -> Iterator[str]:
    """Yield why an answer that is called equal is not.

    `own`: whether it is of a user's own file, whose single numbers may move further than their size.
    """
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
    for found in run.accuracies:
        true = labels.get((found.task, found.model), ())
        for metric in ("top-1", "accuracy"):
            right = tuple(int(answer == label) for answer, label in zip(found.answers, true, strict=False))
            if right and found.right.get(metric, right) != right:
                yield f"answers of {one_line(found.arm)} to {one_line(found.task)} that are called right otherwise"
