"""A run from plan to record: prepare images and artifacts, then generation after generation, all in the journal."""

import hashlib
import random
import secrets
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from suite import __version__, warnings
from suite.alone import cold_starts, peak_memory
from suite.artifacts import Artifacts, Onnx
from suite.backends import registry
from suite.errors import LevelfieldError
from suite.launchers.protocol import Launcher
from suite.launches import Outcome, Site, bring_up, probe, stop, utc_now
from suite.machine.fingerprint import changed, fingerprint
from suite.machine.signals import Signals
from suite.paths import package_root
from suite.plan import ALONE, CANARY, Plan
from suite.profiles import PROFILES
from suite.records import journal as journals
from suite.records.files import JOURNAL
from suite.records.journal import (
    Finished,
    GenerationBegun,
    GenerationDone,
    ImageKnown,
    Journal,
    LaunchDone,
    Resumed,
    Started,
    Warned,
)
from suite.records.schema import (
    SCHEMA,
    Absent,
    Arm,
    Block,
    Case,
    Failure,
    Fingerprint,
    Image,
    Run,
    Settings,
    Warning_,
)
from suite.rounds import Pace, SupervisorClock, Table, warm_up
from suite.watching import Watcher
from suite.zoo import models, weights

MEMORY_SHARE = 0.75
"""Share of the machine's memory that one worker may take at the most."""
MEMORY_BYTES = 12 << 30
GIVE_UP_AFTER = 2
"""Failures of an arm in one block after which it is not launched again there."""
SEED_BITS = 63


class Request(msgspec.Struct, frozen=True):
    """How a run is to be done, beside what is in its plan."""

    budget_seconds: float | None = None
    precision_target: float = 0.01
    margin: float = 0.02
    seed: int | None = None
    identify: bool = False
    command: tuple[str, ...] = ()
    launcher_reason: str = ""


def prepare(plan: Plan, launcher: Launcher, watcher: Watcher) -> Site:
    """Make everything the plan needs: images, weights, ONNX files, reference outputs."""
    images: dict[tuple[str, str, str | None], Image] = {}
    arms = {arm.id: arm for block in plan.blocks for arm in block.arms}
    for arm in (*arms.values(), canary_arm()):
        key = (arm.image, arm.variant, arm.version)
        if key not in images:
            images[key] = launcher.prepare(arm.image, arm.variant, arm.version, watcher.say)
    artifacts = Artifacts()
    onnx = _exports(plan, launcher, artifacts, watcher)
    for model in plan.models:
        watcher.say(f"making the weights of {model}")
        artifacts.weights(model)
    from suite.launches import verify_count

    for case in (*(block.case for block in plan.blocks), canary_case(len(plan.cpus))):
        watcher.say(f"computing the reference of {case.model} in float64")
        artifacts.reference(case.model, verify_count(case.batch))
    return Site(
        launcher=launcher,
        images=images,
        artifacts=artifacts,
        onnx=onnx,
        weights_sha256={
            CANARY: weights.sha256(weights.make(models.get(CANARY))),
            **{name: artifacts.weights_artifact(name).sha256 for name in plan.models},
        },
        cpus=plan.cpus,
        memory_bytes=_memory_limit(),
        caches=Path(tempfile.mkdtemp(prefix="levelfield-caches-")),
    )


def _exports(
    plan: Plan, launcher: Launcher, artifacts: Artifacts, watcher: Watcher
) -> dict[tuple[str, str, int], Onnx]:
    cases = {
        (block.case.model, block.case.precision, block.case.batch): None
        for block in plan.blocks
        if any(registry.get(arm.backend).reads == "onnx" for arm in block.arms)
    }
    if not cases:
        return {}
    exporter = launcher.prepare("exporter", "cpu", None, watcher.say)
    return {key: artifacts.onnx(*key, exporter=exporter, launcher=launcher, progress=watcher.say) for key in cases}


def _memory_limit() -> int:
    import psutil

    return min(MEMORY_BYTES, int(psutil.virtual_memory().total * MEMORY_SHARE))


def canary_arm() -> Arm:
    return Arm(backend=CANARY, image=CANARY)


def canary_case(threads: int) -> Case:
    return Case(CANARY, "latency", "fp32", 1, threads)


def start(plan: Plan, request: Request, site: Site, reports: Path) -> Path:
    """Write the run's folder and the first line of its journal; return the folder."""
    now = utc_now()
    machine = fingerprint(plan.cpus, identify=request.identify)
    identity = f"{now.replace(':', '').replace('-', '')[:15].replace('T', '-')}-{plan.profile.name}"
    run = Run(
        schema=SCHEMA,
        id=f"{identity}-{secrets.token_hex(2)}",
        started=now,
        tool_version=__version__,
        tool_sha256=_tool_sha256(),
        command=request.command,
        settings=Settings(
            profile=plan.profile.name,
            models=plan.models,
            backends=plan.backends,
            scenarios=plan.scenarios,
            precisions=plan.precisions,
            batches=plan.batches,
            threads=plan.threads,
            cpus=plan.cpus,
            generations=plan.profile.generations,
            rounds=plan.profile.rounds,
            budget_seconds=request.budget_seconds,
            precision_target=request.precision_target,
            margin=request.margin,
            seed=request.seed if request.seed is not None else secrets.randbits(SEED_BITS),
            launcher=site.launcher.kind,
            launcher_reason=request.launcher_reason,
        ),
        machine=machine,
        images=tuple(site.images.values()),
        artifacts=(
            *(site.artifacts.weights_artifact(model) for model in plan.models),
            *(onnx.artifact for onnx in site.onnx.values()),
        ),
        blocks=plan.blocks,
        warnings=_known_beforehand(plan, request, site, machine),
        labels=(*plan.profile.labels, *(["injected"] if plan.injected else [])),
    )
    folder = reports / run.id
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise LevelfieldError(
            f"The folder {folder} cannot be made: {error.strerror}.", fix="Choose another one with --reports."
        ) from error
    with Journal(folder / JOURNAL) as journal:
        journal.write(Started(run))
    return folder


def _known_beforehand(plan: Plan, request: Request, site: Site, machine: Fingerprint) -> tuple[Warning_, ...]:
    """Return what a reader must know whatever is measured."""
    found = list(warnings.of_machine(machine))
    if request.launcher_reason:
        found.append(warnings.fell_back_to_venv(request.launcher_reason))
    found += [warnings.unlocked(image.name, image.unlocked) for image in site.images.values() if image.unlocked]
    if plan.injected:
        found.append(warnings.injected(plan.injected))
    if plan.profile.name == "smoke":
        found.append(warnings.smoke())
    return tuple(found)


def _tool_sha256() -> str:
    """Return the digest of the suite's own sources."""
    digest = hashlib.sha256()
    for source in sorted(package_root().rglob("*.py")):
        digest.update(f"{source.relative_to(package_root())}\n".encode() + source.read_bytes())
    return digest.hexdigest()


def check_same(before: Fingerprint, now: Fingerprint) -> None:
    """Refuse to go on with a run on a machine that is not the one it began on.

    Raises
    ------
    LevelfieldError
        Naming the facts that changed.
    """
    differences = changed(before, now)
    if differences:
        raise LevelfieldError(
            f"This machine is not as it was when the run began ({'; '.join(differences[:5])}).",
            fix="Start a new run, and compare the two.",
        )


class Bench:
    """One run in progress."""

    def __init__(self, folder: Path, site: Site, watcher: Watcher, *, resumed: bool = False) -> None:
        self._folder = folder
        self._run = journals.fold(journals.read(folder / JOURNAL))
        self._site = site
        self._watcher = watcher
        self._journal = Journal(folder / JOURNAL)
        self._signals = Signals(site.cpus)
        self._clock = SupervisorClock()
        self._canary: Outcome | None = None
        self._known: set[str] = set()
        self._seconds: dict[str, float] = {}
        self._profile = PROFILES[self._run.settings.profile]
        session = len(self._run.resumed) + resumed  # another order each time the run is taken up
        self._random = random.Random(f"{self._run.settings.seed}/{session}")  # noqa: S311  (a schedule)
        self._failed: dict[tuple[str, str], int] = {}
        self._begun = time.monotonic()
        for block in self._run.blocks:
            for generation in block.generations:
                for launch in generation.launches:
                    self._count_failure(block.case.id, launch.arm, launch.failure)
                for turn in (turn for each in generation.rounds for turn in each.turns):
                    self._count_failure(block.case.id, turn.arm, turn.failure)
        if resumed:
            self._journal.write(Resumed(utc_now()))

    def measure(self) -> None:
        """Take every planned generation that is not in the journal yet; stop early only where the budget is spent."""
        try:
            todo = self._todo()
            for number, (block, index) in enumerate(todo):
                if self._budget_spent(todo[number:]):
                    break
                began = time.monotonic()
                self._generation(block, index)
                self._seconds[block.case.id] = time.monotonic() - began
                self._watcher.done((number + 1) / len(todo), self._left(todo[number + 1 :]))
            share: float | Absent = self._clock.share
            if not self._clock.elapsed_ns:
                share = Absent("no window was measured")
            self._journal.write(Finished(utc_now(), share))
        finally:
            self.close()

    def close(self) -> None:
        """End the canary and free what the run held; safe to call twice."""
        try:
            if self._canary is not None:
                stop([self._canary])
                self._canary = None
        finally:
            self._signals.close()
            self._journal.close()
            shutil.rmtree(self._site.caches, ignore_errors=True)

    def _todo(self) -> list[tuple[Block, int]]:
        """Return what is left, all blocks' first generations before any block's second."""
        left: list[tuple[int, Block, int]] = []
        for block in self._run.blocks:
            complete = sum(generation.complete for generation in block.generations)
            next_index = max((generation.index for generation in block.generations), default=-1) + 1
            left += [
                (complete + extra, block, next_index + extra)
                for extra in range(max(0, block.planned_generations - complete))
            ]
        return [(block, index) for _, block, index in sorted(left, key=lambda entry: entry[0])]

    def _budget_spent(self, left: Sequence[tuple[Block, int]]) -> bool:
        budget = self._run.settings.budget_seconds
        if budget is None or not left:
            return False
        next_one = self._seconds.get(left[0][0].case.id, 0.0)
        if time.monotonic() - self._begun + next_one <= budget:
            return False
        self._warn(warnings.budget_spent(budget, len(left)))
        return True

    def _left(self, todo: Sequence[tuple[Block, int]]) -> float | None:
        known = list(self._seconds.values())
        if not known:
            return None
        return sum(self._seconds.get(block.case.id, sum(known) / len(known)) for block, _ in todo)

    def _generation(self, block: Block, index: int) -> None:
        case = block.case
        seed = self._random.getrandbits(SEED_BITS)
        self._watcher.generation(case.id, index, block.planned_generations)
        self._journal.write(GenerationBegun(case.id, index, seed))
        arms = [arm for arm in block.arms if self._failed.get((case.id, arm.id), 0) < GIVE_UP_AFTER]
        if not arms:
            self._watcher.progress("no backend is left that can answer", {})
        elif case.scenario in ALONE:
            alone = cold_starts if case.scenario == "cold-start" else peak_memory
            for launch in alone(self._site, block, arms, index, seed, self._journal, self._watcher):
                self._count_failure(case.id, launch.arm, launch.failure)
        else:
            self._interleaved(block, arms, index, seed)
        self._journal.write(GenerationDone(case.id, index))

    def _interleaved(self, block: Block, arms: Sequence[Arm], index: int, seed: int) -> None:
        case = block.case
        pace = Pace(
            rounds=self._profile.rounds,
            window_ns=self._profile.window_ns,
            min_calls=self._profile.min_calls,
            repeats=self._profile.rounds,
        )
        outcomes = bring_up(self._site, case, arms)
        try:
            for outcome in outcomes:
                warm_up(outcome, pace)
            canary = self._living_canary(pace)
            for outcome in (*outcomes, canary):
                self._note(case.id, index, outcome)
            table = Table(
                [*outcomes, canary],
                block=case.id,
                generation=index,
                seed=seed,
                signals=self._signals,
                journal=self._journal,
                clock=self._clock,
                watcher=self._watcher,
            )
            for turn in table.play(pace):
                self._count_failure(case.id, turn.arm, turn.failure)
            for outcome in outcomes:
                self._look_at(outcome)
                self._journal.write(LaunchDone(case.id, index, outcome.launch))
        finally:
            stop(outcomes)

    def _note(self, block: str, index: int, outcome: Outcome) -> None:
        self._journal.write(LaunchDone(block, index, outcome.launch))
        self._count_failure(block, outcome.launch.arm, outcome.launch.failure)

    def _count_failure(self, block: str, arm: str, failure: Failure | None) -> None:
        """What a backend cannot do, it will not learn; anything else is tried a second time."""
        if failure is not None:
            learned = failure.kind != "unsupported"
            self._failed[block, arm] = self._failed.get((block, arm), 0) + 1 if learned else GIVE_UP_AFTER

    def _look_at(self, outcome: Outcome) -> None:
        """Probe a worker after its rounds; the first of each image says what is installed there."""
        probed = probe(outcome)
        image = self._site.image(outcome.arm)
        if probed is None or image.tag in self._known:
            return
        self._known.add(image.tag)
        self._journal.write(
            ImageKnown(msgspec.structs.replace(image, distributions=probed.distributions, python=probed.python))
        )

    def _living_canary(self, pace: Pace) -> Outcome:
        """Return the canary, launched once a run and again if it died."""
        if self._canary is None or self._canary.worker is None:
            self._canary = bring_up(self._site, canary_case(len(self._site.cpus)), [canary_arm()])[0]
            warm_up(self._canary, pace)
            self._look_at(self._canary)
        return self._canary

    def _warn(self, warning: Warning_) -> None:
        self._journal.write(Warned(warning))
        self._watcher.warn(warning)
