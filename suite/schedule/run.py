"""A run in progress: which generation comes next, until the plan, the budget or the asked precision ends it."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from suite.analysis.race import races as races_of
from suite.machine.fingerprint import changed, fingerprint
from suite.plan.profiles import PROFILES
from suite.record import journal as journals
from suite.record import notices
from suite.record.files import JOURNAL
from suite.record.journal import ArmLeft, Finished, Journal, Resumed, TimeSpent, Warned
from suite.record.schema import Absent, Fingerprint, Run, Warning_
from suite.schedule import pacing, race, scratch
from suite.schedule.generations import Generations
from suite.schedule.launch_groups import LaunchGroup, remaining_groups
from suite.schedule.listener import ProgressListener
from suite.schedule.outcomes import utc_now
from suite.schedule.resources import RunResources
from suite.statistics.stopping import StopReason

Undecided: TypeAlias = Callable[[Run], Mapping[str, str]]
"""From a record so far to the cases that have no verdict yet, by id, with what is known of each."""


class RunInProgress:
    """One run in progress."""

    def __init__(
        self,
        folder: Path,
        resources: RunResources,
        listener: ProgressListener,
        *,
        resumed: bool = False,
        undecided: Undecided | None = None,
    ) -> None:
        self._folder = folder
        self._journal = Journal(folder / JOURNAL)  # first: what is read then is written by nobody else
        self._run = journals.fold(journals.read(folder / JOURNAL))
        self._resources = resources
        self._listener = listener
        self._undecided = undecided
        self._warned: set[Warning_] = set()
        self._seconds: dict[str, float] = {}
        self._profile = PROFILES[self._run.settings.profile]
        self._begun = time.monotonic()
        self._generations = Generations(self._run, resources, self._journal, listener, self._warn)
        if resumed:
            self._journal.write(Resumed(utc_now()))

    def measure(self) -> None:
        """Take every planned generation that is not in the journal yet; stop early only where the budget is spent."""
        try:
            groups = remaining_groups(self._run.blocks)
            total, done = sum(map(len, groups)), 0
            for number, group in enumerate(groups):
                left = [each for later in groups[number:] for each in later]
                if self._budget_spent(group, left):
                    break
                for _ in self._measure_group(group):
                    done += 1
                    self._listener.done(*self._done(done / total, self._seconds_left(left[1:])))
                    left = left[1:]
            else:
                self._until_precise()
                self._until_decided()
                self._race()
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
            scratch.remove(self._resources.caches)

    def _measure_group(self, group: LaunchGroup, *, by_variance: bool = False) -> Iterator[None]:
        """Measure a generation of each block of a group, with the same launches where they are kept."""
        self._generations.begin()
        try:
            for block, index in group:
                began = time.monotonic()
                self._generations.measure(block, index, last=(block, index) == group[-1], by_variance=by_variance)
                self._seconds[block.case.id] = time.monotonic() - began
                yield
        finally:
            self._generations.keep([])

    def _until_precise(self) -> None:
        """Add generations to each block until its ratios are as precise as was asked, or the budget is spent."""
        target = self._run.settings.precision_target
        if target is None:
            return
        budget = self._run.settings.budget_seconds or self._profile.budget_seconds
        unfinished = [block.case.id for block in self._run.blocks if block.case.timed]
        while unfinished:
            run = journals.fold(journals.read(self._folder / JOURNAL))
            for block in (block for block in run.blocks if block.case.id in unfinished):
                decision = pacing.finished(
                    block,
                    target=target,
                    spent_s=time.monotonic() - self._begun,
                    budget_s=budget,
                    generation_s=self._seconds.get(block.case.id, 0.0),
                )
                if decision.reason is None:
                    for _ in self._measure_group([(block, max(each.index for each in block.generations) + 1)]):
                        pass
                    continue
                unfinished.remove(block.case.id)
                if decision.reason is StopReason.BUDGET:
                    self._warn(notices.precision_not_reached(block.case.id, decision.half_width or math.inf, target))

    def _until_decided(self) -> None:
        """Add generations to each block until it has a verdict, or the budget is spent."""
        if self._undecided is None or not self._run.settings.ends_on_verdict:
            return
        budget = self._run.settings.budget_seconds or self._profile.budget_seconds
        while True:
            run = journals.fold(journals.read(self._folder / JOURNAL))
            missing = self._undecided(run)
            blocks = [
                block
                for block in run.blocks
                if block.case.timed and block.case.id in missing and not self._generations.given_up(block)
            ]
            if not blocks:
                return
            for block in blocks:
                if time.monotonic() - self._begun + self._seconds.get(block.case.id, 0.0) > budget:
                    for each in blocks:
                        self._warn(notices.not_decided(each.case.id, missing[each.case.id]))
                    return
                for _ in self._measure_group([(block, max(each.index for each in block.generations) + 1)]):
                    pass

    def _done(self, share: float, seconds_left: float | None) -> tuple[float, float | None]:
        """Return what is done of the planned generations, and how long the rest takes, with the race that follows."""
        settings, race_seconds = self._run.settings, self._profile.race_seconds
        if not settings.races or race_seconds is None or seconds_left is None:
            return share, seconds_left
        spent_s = time.monotonic() - self._begun
        limit_s = race.seconds_for(race_seconds, spent_s + seconds_left, settings.budget_seconds)
        return _share_and_rest(spent_s, limit_s)

    def _race(self) -> None:
        """Launch the arms that may be first or second until their leads are precise, or the time is over."""
        settings, race_seconds = self._run.settings, self._profile.race_seconds
        if not settings.races or race_seconds is None:
            return
        first_pass_s = time.monotonic() - self._begun
        limit_s = race.seconds_for(race_seconds, first_pass_s, settings.budget_seconds)
        while True:
            races = races_of(journals.fold(journals.read(self._folder / JOURNAL)))
            for case, each in races.items():
                for left in each.leaving:
                    self._journal.write(ArmLeft(case, left))
            run = journals.fold(journals.read(self._folder / JOURNAL))
            spent_s = time.monotonic() - self._begun
            group = race.next_group(run.blocks, races, self._seconds, limit_s - spent_s)
            if not group:
                return
            for _ in self._measure_group(group, by_variance=True):
                self._listener.done(*_share_and_rest(spent_s, limit_s))

    def _budget_spent(self, group: LaunchGroup, left: LaunchGroup) -> bool:
        budget = self._run.settings.budget_seconds
        if budget is None:
            return False
        next_one = sum(self._seconds.get(block.case.id, 0.0) for block, _ in group)
        if time.monotonic() - self._begun + next_one <= budget:
            return False
        self._warn(notices.budget_spent(budget, len(left)))
        return True

    def _seconds_left(self, todo: LaunchGroup) -> float | None:
        known = list(self._seconds.values())
        if not known:
            return None
        return sum(self._seconds.get(block.case.id, sum(known) / len(known)) for block, _ in todo)

    def _warn(self, warning: Warning_) -> None:
        if warning not in self._warned:
            self._warned.add(warning)
            self._journal.write(Warned(warning))
            self._listener.warn(warning)


def _share_and_rest(spent_s: float, limit_s: float) -> tuple[float, float]:
    """Return which share of a time is over, and how many seconds of it are left."""
    return min(1.0, spent_s / limit_s), max(0.0, limit_s - spent_s)
