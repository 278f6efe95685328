"""The types of a plan: what a user selects, and what will be measured."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from levelfield.backends import precisions, registry
from levelfield.backends.info import ONNX, FileFormat
from levelfield.plan.cpu_pinning import Requested
from levelfield.plan.names import CANARY, why_not
from levelfield.plan.profiles import Profile
from levelfield.prepare.own_model import support
from levelfield.record.references import suffix
from levelfield.record.schema import Arm, Block, Case, OwnFile, OwnWeights, Warning_
from levelfield.scenarios import ScenarioName
from levelfield.zoo.onnx_export import CACHED, GROWN


class Selection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a user asked for; empty means: as the profile says."""

    profile: str = "standard"
    models: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    batches: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    """Numbers of threads, each a case of its own; empty: one for every core."""
    cpus: Requested = ()
    """CPUs to choose from; empty: those of one NUMA node and one kind of core."""
    control: str = "auto"
    """Backend that occurs twice in one latency block, as the A/A control; `none` leaves it out."""
    inject: tuple[str, str] | None = None
    """A slowdown (`5%` of a call, or seconds a call) and the arm that gets it."""
    variant: str = "cpu"
    """`cpu`, `cu12`, `cu13`; `auto`: the GPU where one can be used."""
    gpu: str | None = None
    """The one GPU to use: its index, or its UUID."""
    own: OwnFile | None = None
    """A file of the user's own, in the place of models."""
    own_weights: tuple[OwnWeights, ...] = ()
    """Weights of the user's own, whose networks are among the models."""
    locked: bool = True
    """False: what is installed runs (the `host` launcher), and no lock chooses a CUDA variant."""
    pythons: tuple[str, ...] = ()
    """Minor versions of Python that virtual environments can have; empty: images bring their own."""
    processes: tuple[int, ...] = ()
    """Numbers of processes that train together, each a case of its own; empty: one."""
    depths: tuple[int, ...] = ()
    """Tokens of the prompt where models answer token by token, each a case of its own; empty: as the profile says."""
    kv_caches: tuple[str, ...] = ()
    """`static`, `growing` or both, where models answer token by token, each a case of its own; empty: static."""
    batches_of: dict[str, tuple[int, ...]] = {}
    """Batches of single models, as a record says them, where `batches` asks for none: profiles change. Models that are
    not named have none."""
    decoding_batches_of: dict[str, tuple[int, ...]] = {}
    """Batches of single models where they answer token by token, as a record says them."""
    training_batches_of: dict[str, tuple[int, ...]] = {}
    """Batches of single models in training, as a record says them; others have those of the profile."""


class FileKey(NamedTuple):
    model: str
    form: str
    """Its precision, or that with a cache."""
    batch: int
    format: FileFormat = ONNX


class Plan(msgspec.Struct, frozen=True):
    profile: Profile
    blocks: tuple[Block, ...]
    models: tuple[str, ...]
    backends: tuple[str, ...]
    """As they were asked for: `onnxruntime`, `onnxruntime@1.30.0`, `onnxruntime+spinning=off`."""
    scenarios: tuple[ScenarioName, ...]
    precisions: tuple[str, ...]
    batches: dict[str, tuple[int, ...]]
    threads: tuple[int, ...]
    """In rising order; each case names its own."""
    cpus: tuple[int, ...]
    """Those of the largest number of threads, in as many processes as there are at the most."""
    cpus_requested: Requested | None = ()
    """The user's own choice that they were taken from; empty: there was none; None: a record does not say."""
    gpu: int | None = None
    """Index of the GPU that is used, as NVML counts; None: none is."""
    training_batches: dict[str, tuple[int, ...]] = {}
    decoding_batches: dict[str, tuple[int, ...]] = {}
    warnings: tuple[Warning_, ...] = ()
    """What a reader must know of how arms were placed, and of what was left out."""
    processes: tuple[int, ...] = (1,)
    """That train together, in rising order; each case names its own."""
    own: OwnFile | None = None
    """A file of the user's own, which then is the one model."""
    own_weights: tuple[OwnWeights, ...] = ()
    """Weights of the user's own, whose networks are among the models."""

    @property
    def answering(self) -> tuple[Arm, ...]:
        """The arms that can answer at least one case, each once: the others are absent, and need no image."""
        return tuple({arm.id: arm for _, arm in self._answers()}.values())

    def _answers(self) -> Iterator[tuple[Case, Arm]]:
        for block in self.blocks:
            yield from ((block.case, arm) for arm in block.arms if answers(block.case, arm))

    @property
    def images(self) -> tuple[str, ...]:
        """The images the arms need, as `record.references` spells them, the canary's among them."""
        names = [arm.image + suffix(arm.variant, arm.version) for arm in self.answering]
        reference = [] if self.own is None or self.own.function else [support.REFERENCE]
        return (*dict.fromkeys([*names, *reference]), CANARY)

    @property
    def files(self) -> tuple[FileKey, ...]:
        return tuple(dict.fromkeys(key for case, arm in self._answers() if (key := file_key(case, arm)) is not None))

    @property
    def injected(self) -> tuple[str, ...]:
        """Ids of the arms that are slowed down on purpose."""
        return tuple(dict.fromkeys(arm.id for block in self.blocks for arm in block.arms if arm.inject))

    @property
    def exporters(self) -> tuple[str, ...]:
        """The images that must write files first.

        A user's ONNX file is there already, and a network of PyTorch may be read by none; both also answer there, when
        they are rounded otherwise and in float64.
        """
        if self.own is not None:
            return (ONNX.image,) if self.own.framework in {"", support.EXPORTED} else ()
        return tuple(dict.fromkeys(key.format.image for key in self.files))


def file_key(case: Case, arm: Arm) -> FileKey | None:
    """Return which model file an arm answers a case with; None: it computes a definition of its own."""
    read = registry.get(arm.backend).file_format
    if read is None:
        return None
    if case.depth:
        return FileKey(case.model, GROWN if case.growing_cache else CACHED, case.batch, read)
    return FileKey(case.model, precisions.way(arm.backend, case.precision, case.device).file, case.batch, read)


def why_absent(case: Case, arm: Arm) -> str:
    """Say why an arm does not answer a case, as far as it is known before a launch; empty where it is not."""
    reason = why_not(arm.backend, case.model) or precisions.why_not(
        arm.backend, case.precision, case.device, training=case.learns, own=True
    )
    return reason or (registry.get(arm.backend).no_growing_cache if case.growing_cache else "")


def answers(case: Case, arm: Arm) -> bool:
    """Return whether an arm may answer a case: there is no reason why it is absent."""
    return not why_absent(case, arm)
