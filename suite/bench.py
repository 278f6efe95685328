"""A run in progress: which generation comes next, until the plan, the budget or the asked precision ends it."""

import math
import time
from collections.abc import Iterator
from pathlib import Path

from suite import pacing, scratch, warnings
from suite.generations import Generations
from suite.machine.fingerprint import changed, fingerprint
from suite.outcomes import utc_now
from suite.plan import ALONE
from suite.profiles import PROFILES
from suite.records import journal as journals
from suite.records.files import JOURNAL
from suite.records.journal import (
    Finished,
    Journal,
    Resumed,
    Warned,
)
from suite.records.schema import (
    Absent,
    Block,
    Fingerprint,
    Warning_,
)
from suite.site import Site
from suite.sittings import Sitting, remaining
from suite.statistics.stopping import StopReason
from suite.watching import Watcher


class Bench:
    """One run in progress."""

    def __init__(self, folder: Path, site: Site, watcher: Watcher, *, resumed: bool = False) -> None:
        self._folder = folder
        self._journal = Journal(folder / JOURNAL)  # first: what is read then is written by nobody else
        self._run = journals.fold(journals.read(folder / JOURNAL))
        self._site = site
        self._watcher = watcher
        self._said: set[Warning_] = set()
        self._seconds: dict[str, float] = {}
        self._profile = PROFILES[self._run.settings.profile]
        self._begun = time.monotonic()
        self._generations = Generations(self._run, site, self._journal, watcher, self._warn)
        if resumed:
            self._journal.write(Resumed(utc_now()))

    def measure(self) -> None:
        """Take every planned generation that is not in the journal yet; stop early only where the budget is spent."""
        try:
            sittings = remaining(self._run.blocks)
            total, done = sum(map(len, sittings)), 0
            for number, sitting in enumerate(sittings):
                left = [each for later in sittings[number:] for each in later]
                if self._budget_spent(sitting, left):
                    break
                for _ in self._sit(sitting):
                    done += 1
                    self._watcher.done(done / total, self._left(left[1:]))
                    left = left[1:]
            else:
                self._until_precise()
            share: float | Absent = self._generations.clock.share
            if not self._generations.clock.elapsed_ns:
                share = Absent("no window was measured")
            differences = changed(self._run.machine, self._machine())
            if differences:
                self._warn(warnings.machine_changed(differences))
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
            scratch.remove(self._site.caches)

    def _sit(self, sitting: Sitting) -> Iterator[None]:
        """Measure a generation of each block of a sitting, with the same launches where they live on."""
        self._generations.begin()
        try:
            for block, index in sitting:
                began = time.monotonic()
                self._generations.take(block, index, last=(block, index) == sitting[-1])
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
        unfinished = [block.case.id for block in self._run.blocks if block.case.scenario not in ALONE]
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
                    self._pace(block)
                    for _ in self._sit([(block, max(each.index for each in block.generations) + 1)]):
                        pass
                    continue
                unfinished.remove(block.case.id)
                if decision.reason is StopReason.BUDGET:
                    self._warn(warnings.precision_not_reached(decision.half_width or math.inf, target, block.case.id))

    def _pace(self, block: Block) -> None:
        """Give a block as many rounds a launch as its variance says they are worth."""
        cost = self._generations.costs.get(block.case.id)
        if cost is not None:
            self._generations.rounds[block.case.id] = pacing.rounds_for(
                block, launch_s=cost.launch_s, window_s=cost.window_s, otherwise=self._profile.rounds
            )

    def _budget_spent(self, sitting: Sitting, left: Sitting) -> bool:
        budget = self._run.settings.budget_seconds
        if budget is None:
            return False
        next_one = sum(self._seconds.get(block.case.id, 0.0) for block, _ in sitting)
        if time.monotonic() - self._begun + next_one <= budget:
            return False
        self._warn(warnings.budget_spent(budget, len(left)))
        return True

    def _left(self, todo: Sitting) -> float | None:
        known = list(self._seconds.values())
        if not known:
            return None
        return sum(self._seconds.get(block.case.id, sum(known) / len(known)) for block, _ in todo)

    def _warn(self, warning: Warning_) -> None:
        if warning not in self._said:
            self._said.add(warning)
            self._journal.write(Warned(warning))
            self._watcher.warn(warning)
