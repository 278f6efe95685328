"""Where a run's workers live, and what each is told to load."""

from pathlib import Path

import msgspec

from suite.artifacts import Artifacts, Onnx
from suite.backends import precisions, registry
from suite.launchers.protocol import Inside, Launcher
from suite.own_file import keeping
from suite.own_file.reference import Reference
from suite.own_images.asked import Trained
from suite.records.schema import Arm, Case, Image
from suite.worker.messages import Task
from suite.zoo.training import convergence
from suite.zoo.training.convergence import Goal

LOADED_FOR_LATENCY = ("cold-start", "memory", "throughput")
"""Scenarios that need of a worker what latency does: they differ in what is read off it."""


class Site(msgspec.Struct, frozen=True):
    """Where a run's workers live, and what they are given."""

    launcher: Launcher
    """Of all workers but those of arms that name another."""
    images: dict[tuple[str, str, str, str | None], Image]
    """By the launcher that an arm names (empty: the run's), name, variant and version."""
    artifacts: Artifacts
    onnx: dict[tuple[str, str, int], Onnx]
    """By model, precision of the file, and batch."""
    weights_sha256: dict[str, str]
    cpus: tuple[int, ...]
    """Of the most threads and processes; a case with fewer is pinned to some of them (`suite.cores.pinned`)."""
    memory_bytes: int
    caches: Path
    """Compile caches of this run."""
    gpu: str = ""
    """UUID of the GPU that is used; empty: none is. It is never recorded."""
    launchers: dict[str, Launcher] = {}
    """Those that arms name."""
    own: Reference | None = None
    """The user's own file, where one is measured."""
    trained: Trained | None = None
    """What is trained to a target on; None: the digits."""

    def own_of(self, case: Case) -> Reference | None:
        """Return the user's own file where a case is about it: the canary's are not."""
        return self.own if self.own is not None and self.own.model.model == case.model else None

    def goal(self, model: str) -> Goal:
        """Return how a model's network is trained to a target; raises ValueError where it cannot be."""
        return self.trained.goal(model) if self.trained is not None else convergence.of(model)

    def file_of(self, case: Case, arm: Arm) -> Onnx:
        """Return the ONNX file that an arm answers a case with."""
        return self.onnx[case.model, precisions.way(arm.backend, case.precision, case.device).file, case.batch]

    def image(self, arm: Arm) -> Image:
        return self.images[arm.launcher, arm.image, arm.variant, arm.version]

    def launcher_of(self, arm: Arm) -> Launcher:
        return self.launchers[arm.launcher] if arm.launcher else self.launcher


def cache_folder(site: Site, case: Case, arm: Arm) -> Path:
    """Return the compile cache of an arm and model: shared by all its launches in this run."""
    name = "".join(character if character.isalnum() or character in "-._" else "_" for character in arm.id)
    return site.caches / f"{name}-{case.model}-{case.precision}-t{case.threads}"


def task_for(site: Site, case: Case, arm: Arm, inside: Inside) -> Task:
    """Return what a worker is told to load."""
    reads = registry.get(arm.backend).reads
    onnx = site.file_of(case, arm) if reads == "onnx" else None
    weights = f"{inside.artifacts}/{site.artifacts.weights(case.model)}" if reads == "native" else None
    if case.converges:
        weights = None  # a seed's, made in the worker
    own = site.own_of(case)
    return Task(
        backend=arm.backend,
        model=case.model,
        batch=case.batch,
        threads=case.threads,
        scenario="latency" if case.scenario in LOADED_FOR_LATENCY else case.scenario,
        precision=case.precision,
        device=case.device,
        weights_path=weights,
        onnx_path=f"{inside.artifacts}/{onnx.path}" if onnx else None,
        onnx_sha256=onnx.sha256 if onnx else None,
        cache_path=inside.cache,
        dataset_path=f"{inside.artifacts}/{dataset}" if (dataset := _dataset(site, case)) else None,
        settings=arm.settings,
        processes=case.processes,
        own=keeping.description(own.model, inside.artifacts) if own is not None else None,
    )


def _dataset(site: Site, case: Case) -> str:
    """Return the file, under the artifacts folder, that a case's items come from; empty: from none."""
    if case.scenario == "data-pipeline":
        return site.artifacts.dataset(case.model)
    if case.converges and site.trained is not None and site.trained.prepared is not None:
        return site.trained.prepared.path
    return ""
