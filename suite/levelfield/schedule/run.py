"""A run in progress: pass after pass, until the plan, the clock, the asked precision or the verdicts end it."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from levelfield.analysis import launch_levels
from levelfield.machine.fingerprint import changed, fingerprint
from levelfield.plan.profiles import PROFILES
from levelfield.record import journal as journals
from levelfield.record import warnings as notices
from levelfield.record.files import JOURNAL
from levelfield.record.journal import Finished, Journal, Resumed, TimeSpent, Warned
from levelfield.record.schema import Absent, Block, Fingerprint, Run, Warning_
from levelfield.schedule import pacing
from levelfield.schedule.generations import Generations
from levelfield.schedule.listener import ProgressListener
from levelfield.schedule.outcomes import utc_now
from levelfield.schedule.pacing import FIRST_LOOK_S, LaunchGroup, Pass, after, fitting, further_pass, remaining_passes
from levelfield.schedule.resources import RunResources, remove_caches
from levelfield.statistics.stopping import decide

Undecided: TypeAlias = Callable[[Run], Mapping[str, str]]
"""From a record so far to the cases that have no verdict yet, by id, with what is known of each."""


class RunInProgress:
    """One run in progress; `budget_seconds`: what a resumed one has from here on, None: what it was begun with."""

    def __init__(
        self,
        folder: Path,
        resources: RunResources,
        listener: ProgressListener,
        *,
        resumed: bool = False,
        budget_seconds: float | None = None,
        undecided: Undecided | None = None,
    ) -> None:
        self._folder = folder
        self._journal = Journal(folder / JOURNAL)  # first: what is read then is written by nobody else
        if resumed:
            self._journal.write(Resumed(utc_now(), budget_seconds))
        self._run = journals.fold(journals.read(folder / JOURNAL))
        self._resources = resources
        self._listener = listener
        self._undecided = undecided
        self._warned: set[Warning_] = set()
        self._seconds: dict[str, float] = {}
        """By case, what its last generation took."""
        self._ended: dict[str, float] = {}
        """By case, when its last generation ended."""
        self._profile = PROFILES[self._run.settings.profile]
        self._by_clock = self._run.settings.clock_seconds
        self._clock = pacing.clock(self._profile, self._run.settings, self._run.blocks)
        self._pass_s = math.inf
        """What the last pass took; before the first, nothing is known."""
        self._paused_s = 0.0
        """Of the last pass, what was waited; before a pass that is planned, a budget shortens it."""
        self._passes = 0
        """How many were begun."""
        self._ahead: LaunchGroup = []
        """What is planned and not made."""
        self._missing: dict[tuple[str, int], str] = {}
        """Generations that are planned and were not made, with the id of their case."""
        self._told = False
        self._waited_s = 0.0
        """In all pauses."""
        self._passes_left = 0
        """Planned passes that are not made, of the cases that have time for them."""
        self._planned = len(_entries(remaining_passes(self._run.blocks)))
        self._share = 0.0
        self._before_s = journals.measured_s(self._run.time_spent_s)
        """What was measured before this run went on."""
        self._goes_on = self._by_clock is not None or budget_seconds is not None
        self._begun = time.monotonic()
        self._generations = Generations(self._run, resources, self._journal, listener, self._warn)

    def measure(self) -> None:
        """Make the planned passes that are not in the journal yet, and those that the settings ask for after them."""
        try:
            whole = self._make_planned()
            needed_s = self._spent_s() - self._waited_s
            while whole and (blocks := self._open_blocks()):
                self._make(further_pass(blocks), closing=self._may_be_last(blocks))
            if self._missing:
                self._warn(
                    notices.budget_spent(
                        self._clock.seconds,
                        self._clock.seconds - self._spent_s(),
                        len(self._missing),
                        needed_s=needed_s,
                        missing_s=self._expected_s(self._missing.values()),
                        before_s=self._before_s if self._goes_on else 0.0,
                    )
                )
            share: float | Absent = self._generations.clock.share
            if not self._generations.clock.elapsed_ns:
                share = Absent("no window was measured")
            with self._resources.watch.phase("finishing"):
                differences = changed(self._run.machine, self._machine())
            if differences:
                self._warn(notices.machine_changed(differences))
            self._journal.write(TimeSpent(self._resources.watch.take()))
            self._journal.write(Finished(utc_now(), share))
        finally:
            self.close()

    def _machine(self) -> Fingerprint:
        return fingerprint(self._run.settings.cpus, identify="identity" in self._run.machine)

    def close(self) -> None:
        """End every worker and free what the run held; safe to call twice."""
        try:
            self._generations.close()
        finally:
            self._journal.close()
            remove_caches(self._resources.caches)

    def _make_planned(self) -> bool:
        """Make the planned passes; return whether further ones may follow, of the cases that had time for all."""
        blocks = self._run.blocks if self._by_clock is None else pacing.completed(self._run.blocks)
        todo = remaining_passes(blocks)
        self._missing = {(block.case.id, index): block.case.id for block, index in _entries(todo)}
        first, whole = True, False
        while todo:
            kept = todo if first else self._in_time(todo)
            self._passes_left = len(kept or todo)
            whole = whole or bool(kept and not first)
            if not kept or kept[0].groups[0] is not todo[0].groups[0]:
                # A first launch may have compiled what later ones load: a second one shows what they take.
                second = [group for group in todo[0].groups if not whole or any(index == 1 for _, index in group)]
                kept = self._in_time([Pass(todo[0].number, second)]) or kept
            if not kept:
                return whole and self._by_clock is not None
            self._tell_left_out(todo, kept)
            self._ahead = _entries(kept)
            made, spent_s = kept[0], self._spent_s()
            closing = self._clock.may_be_last(made.number, spent_s, self._pass_s)
            if not self._make(made, closing=closing, may_break=first):
                return False
            first, todo = False, after(todo, made, blocks)
        self._passes_left = 0
        return True

    def _in_time(self, todo: list[Pass]) -> list[Pass]:
        """Return the passes with the cases alone that a budget has time for: of few launches, no case has a rank."""
        spent_s, budget_s = self._spent_s(), self._run.settings.budget_seconds
        if self._by_clock is None or budget_s is None:
            return todo if self._clock.another(todo[0].number, spent_s, self._pass_s - self._paused_s) else []
        kept = fitting(todo, self._seconds, budget_s - spent_s)
        if kept:
            self._pass_s = self._expected_s(block.case.id for block, _ in _entries(kept[:1]))
        return kept

    def _tell_left_out(self, todo: Sequence[Pass], kept: Sequence[Pass]) -> None:
        """Tell once what a budget has no time for; a case may yet have its second launch, which compiles nothing."""
        left_s = self._clock.seconds - self._spent_s()
        in_time = {block.case.id for block, _ in _entries(kept)}
        left = [(block.case.id, index) for block, index in _entries(todo) if block.case.id not in in_time]
        second = {case for case, index in left if index == 1 and self._seconds.get(case, 0.0) <= left_s}
        missing = [case for case, _ in left if case not in second]
        if missing and not self._told:
            self._told = True
            self._listener.warn(notices.budget_short(list(dict.fromkeys(missing)), self._expected_s(missing)))

    def _expected_s(self, cases: Iterable[str]) -> float:
        """Return how long generations of these cases may take, as the last ones did; of one without, as the others."""
        known = list(self._seconds.values())
        return sum(self._seconds.get(case, sum(known) / max(1, len(known))) for case in cases)

    def _make(self, made: Pass, *, closing: bool, may_break: bool = False) -> bool:
        began = time.monotonic()
        self._passes = made.number + 1
        self._paused_s = 0.0
        budget_s, apart_s = self._run.settings.budget_seconds, self._apart_s(made)
        for number, group in enumerate(made.groups):
            if number and may_break and budget_s is not None and self._spent_s() > budget_s:
                return False
            self._paused_s += self._pause(group, apart_s)
            self._measure(group, closing=closing)
        self._pass_s = time.monotonic() - began
        return True

    def _apart_s(self, made: Pass) -> float:
        groups = (sum(self._seconds.get(block.case.id, 0.0) for block, _ in group) for group in made.groups)
        return pacing.apart_s(
            self._profile,
            self._run.settings,
            passes_left=self._passes_left,
            spent_s=self._spent_s(),
            longest_s=max(groups),
            alone=len(made.groups) == 1,
        )

    def _pause(self, group: LaunchGroup, apart_s: float) -> float:
        """Wait until the last generations of these cases ended so many seconds ago; return how long."""
        ended = max(
            (self._ended[block.case.id] for block, _ in group if block.case.id in self._ended), default=-math.inf
        )
        left_s = max(0.0, ended + apart_s - time.monotonic())
        if left_s:
            with self._resources.watch.phase("pausing"):
                time.sleep(left_s)
        self._waited_s += left_s
        return left_s

    def _measure(self, group: LaunchGroup, *, closing: bool) -> None:
        """Measure a generation of each block of a group, with the same launches where they are kept."""
        self._generations.begin()
        try:
            for position, (block, index) in enumerate(group):
                began = time.monotonic()
                # Passes beyond the plan hold timed cases alone.
                ends = closing or (not block.case.timed and index + 1 >= block.planned_generations)
                self._generations.measure(block, index, last=(block, index) == group[-1], closing=ends)
                self._ended[block.case.id] = time.monotonic()
                self._seconds[block.case.id] = self._ended[block.case.id] - began
                self._ahead = self._ahead[1:]
                self._missing.pop((block.case.id, index), None)
                begun = self._expected_s(each.case.id for each, _ in group[position + 1 :])
                self._show_progress(begun)
        finally:
            self._generations.keep([])

    def _open_blocks(self) -> list[Block]:
        """Return the blocks that another pass is made of; empty: the run ends."""
        run = journals.fold(journals.read(self._folder / JOURNAL))
        timed = [block for block in run.blocks if block.case.timed]
        settings = run.settings
        if settings.precision_target is not None:
            return self._imprecise(timed, settings.precision_target)
        if settings.ends_on_verdict:
            return self._not_decided(run, timed)
        taken = max((len(block.generations) for block in timed), default=0)
        if self._by_clock is None or not self._clock.another(taken, self._spent_s(), self._pass_s):
            return []
        short = set(self._missing.values())
        return [block for block in timed if block.case.id not in short and self._generations.answering(block)]

    def _may_be_last(self, blocks: Sequence[Block]) -> bool:
        taken = max(len(block.generations) for block in blocks)
        return self._by_clock is None or self._clock.may_be_last(taken, self._spent_s(), self._pass_s)

    def _imprecise(self, timed: Sequence[Block], target: float) -> list[Block]:
        """Return the blocks of which some ratio is not as precise as was asked; warn if there is no time for them."""
        found = {}
        for block in timed:
            decision = decide(launch_levels.level_matrix(block), target=target)
            if not decision.precise:
                found[block.case.id] = decision.half_width or math.inf
        blocks = [block for block in timed if block.case.id in found]
        if self._fits(blocks):
            return blocks
        for case, half_width in found.items():
            self._warn(notices.precision_not_reached(case, half_width, target))
        return []

    def _not_decided(self, run: Run, timed: Sequence[Block]) -> list[Block]:
        """Return the blocks that have no verdict yet, all before the first look; warn if there is no time for them."""
        if self._undecided is None:
            return []
        able = [block for block in timed if len(self._generations.answering(block)) == len(block.arms)]
        looks = self._before_s + self._spent_s() >= FIRST_LOOK_S or not self._fits(able)
        missing = self._undecided(run) if looks else dict.fromkeys((block.case.id for block in able), "")
        blocks = [block for block in able if block.case.id in missing]
        if self._fits(blocks):
            return blocks
        for block in blocks:
            self._warn(notices.not_decided(block.case.id, missing[block.case.id]))
        return []

    def _fits(self, blocks: Sequence[Block]) -> bool:
        """Return whether the budget has time for one more generation of each of these blocks."""
        budget_s = self._run.settings.budget_seconds or self._profile.budget_seconds
        return self._spent_s() + sum(self._seconds.get(block.case.id, 0.0) for block in blocks) <= budget_s

    def _spent_s(self) -> float:
        """Return how long this run has measured; the clock goes on, and so does a budget that was added to."""
        before_s = self._before_s if self._goes_on else 0.0
        return before_s + time.monotonic() - self._begun

    def _show_progress(self, begun_s: float) -> None:
        """Show which share is done, and how long the rest takes; `begun_s`: that of what these launches answer yet."""
        rest_s = self._expected_s(block.case.id for block, _ in self._ahead)
        if self._undecided is not None:  # a verdict may come before
            spent_s = self._spent_s()
            rest_s = max(begun_s, (self._run.settings.budget_seconds or self._profile.budget_seconds) - spent_s)
            self._share = max(self._share, spent_s / max(spent_s + rest_s, 1e-9))
        elif self._by_clock is None:
            self._share = max(self._share, 1 - len(self._ahead) / max(1, self._planned))
        else:
            spent_s = self._spent_s()
            rest_s = max(begun_s, self._clock.rest_s(self._passes, spent_s, self._pass_s, planned_s=rest_s))
            self._share = max(self._share, spent_s / (spent_s + rest_s))
        self._listener.done(self._share, rest_s)

    def _warn(self, warning: Warning_) -> None:
        if warning not in self._warned:
            self._warned.add(warning)
            self._journal.write(Warned(warning))
            self._listener.warn(warning)


def _entries(made: Sequence[Pass]) -> LaunchGroup:
    return [entry for each in made for group in each.groups for entry in group]
