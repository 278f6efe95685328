"""What preparation makes for a run: launchers, images and files; and the task that each worker loads."""

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from levelfield import paths
from levelfield.backends import registry
from levelfield.images import catalogue, worker_code
from levelfield.launchers.credible import Amounts
from levelfield.launchers.protocol import Launcher, WorkerPaths
from levelfield.machine.fingerprint import machine_sha256
from levelfield.machine.topology import Topology
from levelfield.names import made_of
from levelfield.paths import lasting_temporary_folder, remove_temporary, remove_tree
from levelfield.plan.types import FileKey, file_key
from levelfield.prepare.artifacts import Artifacts, ModelFile
from levelfield.prepare.own_model import store
from levelfield.prepare.own_model.reference import Reference
from levelfield.record.schema import Arm, Artifact, Case, Computed, Fingerprint, Image, Parity, Phase
from levelfield.schedule.outcomes import Outcome, Stamps
from levelfield.worker.messages import Task
from levelfield.zoo.spec import Own
from levelfield.zoo.training import convergence
from levelfield.zoo.training.recipe import Goal


class Stopwatch:
    """Adds every second to one phase: the innermost that is open, or `other` where none is."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self._open: list[Phase] = ["other"]
        self._seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: Phase) -> Iterator[None]:
        """Add the time within the block to a phase, less that of the phases within it."""
        self._add()
        self._open.append(name)
        try:
            yield
        finally:
            self._add()
            self._open.pop()

    def take(self) -> dict[str, float]:
        """Return the seconds of each phase since they were taken last; together they are the time that has passed."""
        self._add()
        taken, self._seconds = self._seconds, {}
        return taken

    def _add(self) -> None:
        now = self._clock()
        phase = self._open[-1]
        self._seconds[phase] = self._seconds.get(phase, 0.0) + now - self._since
        self._since = now


class Driver(msgspec.Struct, frozen=True):
    """What a plug-in prepared for scenarios whose calls it makes (`schedule.preparation`)."""

    artifacts: tuple[Artifact, ...]
    """Files that it hands to workers."""
    folder: str
    """Where they are under the artifacts folder."""
    measure: Callable[..., list[Outcome]]
    """Measures a group of arms in one generation; called by `schedule.generations`, the one place."""


class RunResources(msgspec.Struct, frozen=True):
    """Everything that a run's workers need: their launchers, images, and the files that they read."""

    launcher: Launcher
    """Of all workers but those of arms that name another."""
    images: dict[tuple[str, str, str, str | None], Image]
    """By the launcher that an arm names (empty: the run's), name, variant and version."""
    artifacts: Artifacts
    files: dict[FileKey, ModelFile]
    """Model files that workers read."""
    weights_sha256: dict[str, str]
    cpus: tuple[int, ...]
    """Of the most threads and processes; a case with fewer has some of them (`plan.cpu_pinning.pinned`)."""
    memory_bytes: int
    caches: Path
    """Compile caches of this run."""
    topology: Topology = Topology()
    """Of this machine."""
    memory_unbound: str = ""
    """Why no worker's memory is bound to NUMA nodes; empty: it is, where several nodes have memory."""
    gpu: str = ""
    """UUID of the GPU that is used; empty: none is. It is never recorded."""
    launchers: dict[str, Launcher] = {}
    """Those that arms name."""
    own: tuple[Reference, ...] = ()
    """The user's own file, where one is measured, with each of its sizes."""
    target: float | None = None
    """Accuracy that is trained to; None: that of each network."""
    computed: dict[tuple[str, ...], Computed] = msgspec.field(default_factory=dict)
    """What arms were found to compute in (`known_computed`)."""
    compared: dict[tuple[object, ...], Parity] = msgspec.field(default_factory=dict)
    """Outputs compared with their reference, by what was asked and their digest; filled by `output_verification`."""
    hashed: dict[tuple[str, str], Stamps] = msgspec.field(default_factory=dict)
    """Files that a launch of an arm has hashed, by arm and path; see `stamps`."""
    driver: Driver | None = None
    """None: no case has its calls made by a plug-in."""
    judged: tuple[str, ...] = ()
    """Files of items, under the artifacts folder, that workers answer (`Predict`)."""
    emulated: str = ""
    """The processor that is emulated for the images, and this machine's; empty: none."""
    watch: Stopwatch = msgspec.field(default_factory=Stopwatch)
    """Of this run's time."""
    amounts: Amounts = msgspec.field(default_factory=lambda: Amounts(1))
    """What workers have reported for the record."""

    def memory_nodes(self, cpus: Sequence[int]) -> tuple[int, ...]:
        """Return the NUMA nodes that the memory of a worker on these CPUs is bound to; empty: it is not bound."""
        return () if self.memory_unbound else self.topology.memory_nodes(cpus)

    def own_of(self, case: Case) -> Reference | None:
        """Return the user's own file where a case is about it: the canary's are not."""
        return next((each for each in self.own if each.model.model == case.model), None)

    def goal(self, model: str) -> Goal:
        """Return how a model's network is trained to a target; raises ValueError where it cannot be."""
        return convergence.goal(model, target=self.target)

    def file_of(self, case: Case, arm: Arm) -> ModelFile | None:
        """Return the model file that an arm answers a case with; None: it computes a definition of its own."""
        key = file_key(case, arm)
        return None if key is None else self.files.get(key)

    def why_no_file(self, case: Case, arm: Arm) -> str:
        """Say why there is nothing of a user's own network for an arm to load; empty: there is."""
        own = self.own_of(case)
        if own is not None and own.unusable:
            return own.unusable
        if own is None or own.exported is None or file_key(case, arm) is None:
            return ""
        return own.exported.unexported

    def known_computed(self, case: Case, arm: Arm) -> Computed | None:
        """Return what an arm was found to compute in earlier in this run; None: it is to be asked.

        On a CPU that follows from the image, the model and the precision, and some frameworks take seconds to say it:
        the first launch of each case that is timed in windows is asked, and others only where none was. On a GPU a
        framework chooses algorithms by their speed, so every launch is asked, but for those that say which operators a
        call dispatches (docs/gpu.md).
        """
        if case.device != "cpu" and not registry.get(arm.backend).says_by_operators:
            return None
        return self.computed.get((arm.id, case.id) if case.timed else (arm.id, case.model, case.precision))

    def remember_computed(self, case: Case, arm: Arm, computed: Computed | None) -> None:
        """Keep what an arm was found to compute in for the launches that follow; None: it does not say."""
        if computed is not None:
            if case.timed:
                self.computed[arm.id, case.id] = computed
            self.computed.setdefault((arm.id, case.model, case.precision), computed)

    def stamps(self, case: Case, arm: Arm) -> Stamps:
        """Return the state of the weights, or of the model file, that an arm reads for a case; empty: it reads none.

        To hash the weights of BERT takes a second of a launch, so files that an earlier launch of the arm hashed, and
        that are unchanged, are not hashed again. All workers still compute with the same weights, and that is proven:
        the first launch of every arm hashes what it reads, workers cannot write there, and the kernel dates every
        change of a file (`st_ctime`, which no program sets).
        """
        path = self._read_by(case, arm)
        if not path:
            return ()
        whole = self.artifacts.root / path
        files = ((each.name, each.stat()) for each in sorted(whole.parent.glob(f"{whole.name}*")))
        return tuple((name, stat.st_ino, stat.st_size, stat.st_ctime_ns) for name, stat in files)

    def is_hashed(self, case: Case, arm: Arm, stamps: Stamps) -> bool:
        """Return whether an earlier launch of an arm hashed these files."""
        return bool(stamps) and self.hashed.get((arm.id, self._read_by(case, arm))) == stamps

    def remember_hashed(self, case: Case, arm: Arm, stamps: Stamps | None) -> None:
        """Keep what a launch has hashed: the state of the files before they were read; None or empty: nothing."""
        if stamps:
            self.hashed[arm.id, self._read_by(case, arm)] = stamps

    def _read_by(self, case: Case, arm: Arm) -> str:
        """Return the file under the artifacts that an arm reads; empty: weights made in the worker, or a user's own."""
        if case.converges or self.own_of(case) is not None:
            return ""
        if (file := self.file_of(case, arm)) is not None:
            return file.path
        return self.artifacts.weights(case.model) if registry.get(arm.backend).reads == "native" else ""

    def image(self, arm: Arm) -> Image:
        return self.images[arm.launcher, arm.image, arm.variant, arm.version]

    def held(self, arm: Arm) -> dict[str, str]:
        """Return what an arm's image holds by its lock, and of plug-ins; empty: no lock says it."""
        if not self.image(arm).lock_sha256:
            return {}
        return catalogue.lock(arm.image, arm.variant, arm.version).versions | worker_code.distributions(arm.image)

    def launcher_of(self, arm: Arm) -> Launcher:
        return self.launchers[arm.launcher] if arm.launcher else self.launcher


def cache_folder(resources: RunResources, case: Case, arm: Arm) -> Path:
    """Return the compile cache of an arm in its image: shared by its launches, and by models where it is kept."""
    name = "".join(character if character.isalnum() or character in "-._" else "_" for character in arm.id)
    image = resources.images.get((arm.launcher, arm.image, arm.variant, arm.version))
    made = hashlib.sha256(image.tag.encode()).hexdigest()[:12] if image is not None else "none"
    model = f"-{case.launched_for}" if resources.caches.name == _OF_A_RUN else ""
    return resources.caches / f"{name}-{made}{model}-{case.precision}-t{case.threads}"


def task_for(resources: RunResources, case: Case, arm: Arm, worker_paths: WorkerPaths) -> Task:
    reads, own = registry.get(arm.backend).reads, resources.own_of(case)
    file = resources.file_of(case, arm)
    weights = (
        f"{worker_paths.artifacts}/{resources.artifacts.weights(case.model)}"
        if reads == "native" and own is None
        else None
    )
    if case.converges:
        weights = None  # a seed's, made in the worker
    return made_of(
        Task,
        case,
        arm,
        scenario=_loaded_as(case),
        weights_path=weights,
        file_path=f"{worker_paths.artifacts}/{file.path}" if file else None,
        file_sha256=file.sha256 if file else None,
        cache_path=worker_paths.cache,
        dataset_path=f"{worker_paths.artifacts}/{dataset}" if (dataset := _dataset(resources, case)) else None,
        own=_described(own, worker_paths.artifacts, reads) if own is not None else None,
    )


def readable(resources: RunResources, case: Case) -> tuple[str, ...]:
    """Return what a worker may read under the artifacts folder, for all cases that one launch answers.

    Neither references nor what is another model's: a user's own network is a stranger's program.
    """
    handed = resources.judged + ((resources.driver.folder,) if resources.driver is not None else ())
    if (own := resources.own_of(case)) is not None:
        return (*store.readable(own.model), *handed)
    models = tuple(resources.weights_sha256) if case.definition.operators else (case.model,)
    files = (file.path.rpartition("/")[0] for key, file in resources.files.items() if key.model in models)
    dataset = (_dataset(resources, case),) if case.definition.from_dataset else ()
    made = (path for model in models for path in resources.artifacts.made(model))
    return tuple(sorted({*made, *files, *dataset, *handed}))


def _described(own: Reference, root: str, reads: str) -> Own:
    if own.exported is not None and reads != "native":
        return own.exported.description(root)
    return store.description(own.model, root)


def _loaded_as(case: Case) -> str:
    if case.definition.operators and case.stays_on_device:
        return "latency-device"
    return case.definition.loaded_as or case.scenario


def _dataset(resources: RunResources, case: Case) -> str:
    """Return the file, under the artifacts folder, that a case's items come from; empty: from none."""
    return resources.artifacts.dataset(case.model) if case.definition.from_dataset else ""


UNUSED_S = 30 * 86400.0
"""What no run has used for so long is removed."""
_OF_A_RUN = "caches"


def new_caches() -> Path:
    """Return a new folder for the compile caches of one run, below the cache folder."""
    caches = lasting_temporary_folder("levelfield-run") / _OF_A_RUN
    caches.mkdir()
    return caches


def kept_caches(machine: Fingerprint) -> Path:
    """Return the folder of what was compiled on a machine, which later runs find again."""
    root = paths.cache_folder("compiled")
    caches = root / machine_sha256(machine)[:16]
    caches.mkdir(exist_ok=True)
    for unused in root.glob("*/*") if (root / paths.MARK).is_file() else ():  # else it is somebody else's
        with contextlib.suppress(OSError):
            if time.time() - unused.stat().st_mtime > UNUSED_S:
                remove_tree(unused)
    return caches


def remove_caches(caches: Path) -> None:
    """Remove what `make_folder` returned, and leave what is kept; safe to call twice."""
    if caches.name == _OF_A_RUN:
        remove_temporary(caches.parent)
