"""Summary of a run, and the warnings that follow from its numbers."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from levelfield.analysis import collect, hardware, machine, processor, ranks, types
from levelfield.backends import registry
from levelfield.compatibility import gate, libraries
from levelfield.record import warnings as notices
from levelfield.record.schema import Absent, Arm, Image, Run, Warning_
from levelfield.statistics.student import MIN_LAUNCHES

Surroundings: TypeAlias = tuple[types.Canary | None, types.NoiseSummary | None]

SMOKE = "smoke"
"""Label of runs that rank nothing."""
AB = "ab"
"""Label of the runs that `levelfield ab` makes."""

TOO_DISTURBED = 1 / 3
"""Share of disturbed rounds from which the run as a whole is called too disturbed."""

RESTLESS = 0.01
"""Share of all windows that begin while an arm is still computing, from which there is a warning."""


def summarise(run: Run, blocks: Iterable[types.BlockAnalysis]) -> types.Status:
    """Count results and rounds over all blocks."""
    blocks = tuple(blocks)
    rows = [(_result(block, row), row) for block in blocks for row in block.rows]
    answers: dict[tuple[str, str, str], bool | None] = {}  # None: not compared
    doubted: set[tuple[str, str, str]] = set()
    for block in blocks:
        for row in block.rows:
            if row.standing == "control":  # the same answer a second time
                continue
            key = (row.arm, block.case.question, block.case.precision)
            known = answers.setdefault(key, None)
            if row.parity is not None and row.parity.doubt:
                doubted.add(key)
            elif row.parity is not None:
                answers[key] = row.parity.equal and known is not False
    timed = [block for block in blocks if isinstance(block, types.TimedBlock)]
    rounds = sum(block.rounds for block in timed)
    disturbed = sum(block.rounds_disturbed for block in timed)
    return types.Status(
        results=len(rows),
        answers=len(answers),
        answers_equal=sum(equal is True for equal in answers.values()),
        answers_compared=sum(equal is not None for equal in answers.values()),
        answers_doubted=len(doubted),
        unequal=tuple(name for name, row in rows if row.standing == "unequal"),
        failed=tuple(name for name, row in rows if row.standing == "failed"),
        absent=tuple(name for name, row in rows if row.standing == "absent"),
        rounds=rounds,
        rounds_disturbed=disturbed,
        rounds_kept=sum(block.rounds_kept for block in timed),
        too_disturbed=disturbed > TOO_DISTURBED * (rounds + disturbed),
        finished=run.finished is not None,
        supervisor_share=run.supervisor_window_share,
        data_sets_failed=tuple(
            f"{each.arm}/{each.precision}/{each.task}"
            for each in run.accuracies
            if each.equal is False or (each.failure is not None and each.failure.kind not in ranks.NO_FAULT)
        ),
    )


def _result(block: types.BlockAnalysis, row: types.AnyRow) -> str:
    return f"{row.arm}/{block.case.id}"


def derive(
    run: Run, blocks: Iterable[types.BlockAnalysis], status: types.Status, around: Surroundings
) -> tuple[Warning_, ...]:
    """Return the warnings that follow from the numbers, after those of the record's own that are not among them."""
    blocks = tuple(blocks)
    found = chain(
        _of_run(status),
        _of_surroundings(run, around),
        _of_waits(run),
        _of_answers(blocks),
        _of_emulation(run, blocks),
        _of_devices(run),
        _of_libraries(run),
        _of_versions(run),
        *(map(_of_block, blocks)),
        *(_of_states(block) for block in blocks if isinstance(block, types.TimedBlock)),
        _of_launches(run, blocks),
        _of_kernels(run),
    )
    of_here = tuple(found)
    known = {(warning.code, warning.about) for warning in of_here}
    return tuple(each for each in run.warnings if (each.code, each.about) not in known) + of_here


def _of_run(status: types.Status) -> Iterator[Warning_]:
    if not status.finished:
        yield notices.cut_off()
    if status.too_disturbed:
        fate = machine.fate(status.rounds_disturbed, status.rounds_kept)
        yield notices.too_disturbed(status.rounds_disturbed, status.rounds + status.rounds_disturbed, fate)
    share = status.supervisor_share
    if not isinstance(share, Absent) and share > notices.SUPERVISOR_LIMIT:
        yield notices.supervisor_busy(share)


def _of_surroundings(run: Run, around: Surroundings) -> Iterator[Warning_]:
    canary, noise = around
    drift = canary.drift if canary is not None and canary.moved else None
    if drift is not None and abs(drift) > notices.CANARY_LIMIT:
        yield notices.machine_moved(drift)
    if noise is None:
        return
    if not isinstance(noise.throttled, Absent) and noise.throttled > 0:
        yield notices.throttled(noise.throttled)
    if not isinstance(noise.quota_throttled, Absent) and noise.quota_throttled > 0:
        quota = run.machine.get("limits", {}).get("CPU limit")
        yield notices.throttled_by_quota(noise.quota_throttled, quota)
    if not isinstance(noise.steal_share, Absent) and noise.steal_share > notices.STEAL_LIMIT:
        yield notices.stolen(noise.steal_share)
    if not isinstance(noise.idle_workers_share, Absent) and noise.idle_workers_share > notices.IDLE_LIMIT:
        yield notices.idle_workers_busy(noise.idle_workers_share)


def _of_waits(run: Run) -> Iterator[Warning_]:
    """Name the arms that kept others waiting up to the limit, in more windows than chance would have it."""
    turns = [turn for block in run.blocks for *_, turn in collect.turns(block)]
    waits = [wait for turn in turns for wait in (turn.settling, turn.settled) if wait is not None]
    busy = Counter(arm for wait in waits for arm in wait.busy)
    for arm, windows in sorted(busy.items()):
        if windows > RESTLESS * len(waits):
            yield notices.never_still(arm, windows, len(waits))


def _of_states(block: types.TimedBlock) -> Iterator[Warning_]:
    states = block.states
    if states is None:
        return
    if states.knowledge == "contended throughout":
        yield notices.contended_throughout(block.case.id, states.low_share)
    if states.ranks_differ and block.best is not None:
        yield notices.ranks_differ_by_state(block.case.id, block.best, states.ranks_differ)


def _of_devices(run: Run) -> Iterator[Warning_]:
    for measured in run.blocks:
        codes = hardware.xid_errors(measured)
        if codes and not isinstance(codes, Absent):
            yield notices.gpu_xid(measured.case.id, codes)
    for block in hardware.devices(run):
        windows = sum(row.windows for row in block.rows)
        throttled = sum(row.throttled_windows for row in block.rows)
        if throttled:
            reasons = dict.fromkeys(reason for row in block.rows for reason in row.throttled)
            yield notices.gpu_throttled(block.case.id, throttled, windows, tuple(reasons))
        errors = sum(int(row.ecc_errors) for row in block.rows if not isinstance(row.ecc_errors, Absent))
        if errors:
            yield notices.gpu_memory_errors(block.case.id, errors)


def _of_libraries(run: Run) -> Iterator[Warning_]:
    """Name loaded CUDA libraries that are not the locked ones, once for each arm."""
    said: set[tuple[str, str]] = set()
    for block in run.blocks:
        arms = {arm.id: arm for arm in block.arms if block.case.device != "cpu"}
        for _, launch in collect.launches(block):
            arm = arms.get(launch.arm)
            image = _image_of(arm, run) if arm else None
            for text in libraries.not_of_the_lock(launch, image) if image else ():
                if (launch.arm, text) not in said:
                    said.add((launch.arm, text))
                    yield notices.not_the_locked_library(launch.arm, text)


def _image_of(arm: Arm, run: Run) -> Image | None:
    stem = f"{arm.variant}@{arm.version}" if arm.version else arm.variant
    place = (arm.launcher or run.settings.launcher, arm.image, stem)
    return next((image for image in run.images if (image.launcher, image.name, image.variant) == place), None)


def _of_versions(run: Run) -> Iterator[Warning_]:
    """Warn of versions that became known to answer wrongly after the run."""
    arms = {arm.id: arm for block in run.blocks if block.case.device == "cpu" for arm in block.arms}
    table = gate.read()
    for arm in arms.values():
        image = _image_of(arm, run)
        if arm.ordinal == 1 and image is not None and image.launcher != "host":
            for known in libraries.known_wrong(table, image.distributions, arm.backend):
                if run.settings.own is not None or not known.row.own:
                    yield notices.known_wrong(arm.id, known.sentence, known.row.remedy)


def _of_answers(blocks: Iterable[types.BlockAnalysis]) -> Iterator[Warning_]:
    """Warn once of an answer that is not equal, not once per scenario."""
    said: set[tuple[str, str, str]] = set()
    for block in blocks:
        for row in block.rows:
            answer = (row.arm, block.case.question, block.case.precision)
            if row.standing == "unequal" and row.parity is not None and answer not in said:
                said.add(answer)
                about = f"{row.arm}/{block.case.question}/{block.case.precision}"
                if row.parity.computed_in not in {"", block.case.precision}:
                    yield notices.not_as_claimed(about, row.parity.reason)
                elif row.parity.training is not None:
                    yield notices.trains_otherwise(about, row.parity.reason)
                else:
                    yield notices.not_equal(about, row.parity.reason)


def _of_emulation(run: Run, blocks: Iterable[types.BlockAnalysis]) -> Iterator[Warning_]:
    """Name the precisions that this processor has no instructions for: their emulation is measured."""
    precisions = dict.fromkeys(block.case.precision for block in blocks if block.case.device == "cpu")
    for precision in precisions:
        reason = processor.missing_instructions(run.machine, precision)
        if reason:
            yield notices.emulated(precision, reason)


def _of_launches(run: Run, blocks: Iterable[types.BlockAnalysis]) -> Iterator[Warning_]:
    """Name the cases that too few launches kept from being ranked; a smoke run has a notice of its own."""
    if SMOKE in run.labels or run.imported is not None:
        return
    few: dict[int, list[str]] = {}
    for block in blocks:
        if isinstance(block, types.RankedBlock) and block.unranked_reason:
            most = max((row.launches for row in block.rows), default=0)
            if 0 < most < MIN_LAUNCHES:
                few.setdefault(most, []).append(block.case.id)
    planned = run.settings.generations >= MIN_LAUNCHES
    for launches, cases in few.items():
        budget_s = run.settings.budget_seconds if planned else None
        yield notices.too_few_launches(launches, MIN_LAUNCHES, cases, budget_s)


def _of_kernels(run: Run) -> Iterator[Warning_]:
    """Name the arms whose products Intel's library computes on a processor of another vendor."""
    arms = {arm.id: arm for block in run.blocks for arm in block.arms}
    for arm, launch in processor.with_most_by(notices.MKL, run).items():
        if arm not in arms:
            continue
        setting = registry.instead_of_mkl(arms[arm].backend)
        if found := notices.generic_mkl(run.machine, arms[arm], launch, setting):
            yield found


def _of_block(block: types.BlockAnalysis) -> Iterator[Warning_]:
    if not isinstance(block, types.TimedBlock):
        return
    for row in block.rows:
        counts = row.counts
        if counts.launches_failed and counts.launches and row.failure is not None:
            yield notices.launches_failed(_result(block, row), counts.launches_failed, row.failure.message)
        if row.slow_start is not None and not row.slow_start.settled:
            yield notices.slow_start(_result(block, row), row.slow_start.excess)
