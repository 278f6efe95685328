"""The types of a run's record, versioned. A record has what was measured, not what is computed from it.

A run is a list of blocks. A block is one case with all its arms, measured in generations; a generation is one launch of
every arm, measured in rounds; a round is one turn of every arm, in random order. Medians, intervals and verdicts are
not stored: `analysis` computes them from the record.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from levelfield import scenarios
from levelfield.names import made_of
from levelfield.record import references
from levelfield.record.bases import BaseLock
from levelfield.record.disturbance import Disturbed, Reason, Watched
from levelfield.record.measured import (
    INT_LIMIT,
    Absent,
    Computed,
    Evaluation,
    Integers,
    Library,
    LoadGenScenario,
    MachineProbe,
    Memory,
    RooflineSamples,
    Sha256,
    Startup,
    Window,
    Work,
)
from levelfield.scenarios import Scenario, ScenarioName

__all__ = [
    "INT_LIMIT", "Absent", "Computed", "Evaluation", "Integers", "Library", "MachineProbe", "Memory",
    "Reason", "Startup", "Window", "Work",
]  # fmt: skip

SCHEMA = 1
"""Version of these types. A reader refuses a newer one by name, and every field that it does not know."""


Fact: TypeAlias = str | int | float | bool | Absent
FailureKind: TypeAlias = Literal[
    "crashed", "timeout", "out-of-memory", "protocol", "error", "unsupported", "engine", "interrupted"
]

Phase: TypeAlias = Literal[
    "preparing",
    "roofline",
    "answering data sets",
    "loading",
    "verifying",
    "timed inputs",
    "warming up",
    "waiting",
    "waiting for calm",
    "pausing",
    "windows",
    "canary windows",
    "around windows",
    "probing",
    "cold starts",
    "peak memory",
    "training to a target",
    "LoadGen tests",
    "ending workers",
    "finishing",
    "other",
]
"""What the supervisor's time is spent on; `analysis.time_spent` describes each."""


KVCache: TypeAlias = Literal["static", "growing"]
"""Cache of keys and values: of a fixed size, that of the context, or one that grows with the sequence."""
LOADGEN_SUMMARY_CHARS = 16 << 10
LOADGEN_DETAIL_CHARS = 256 << 10
"""Longest logs of MLPerf LoadGen that a record holds; whole ones have a tenth of that."""
UNKNOWN = "unknown"
"""Precision and device of a case that another tool measured."""


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is measured: a model in a scenario, with a precision, batch size, threads and device."""

    model: str
    scenario: ScenarioName
    precision: str
    batch: int
    threads: int
    """Of every process."""
    device: str = "cpu"
    processes: int = 1
    """That train together, each with an equal share of the batch (scenario `training`)."""
    hosts: Literal[1] = 1
    """Earlier versions recorded it; always 1."""
    depth: int = 0
    """Tokens of the prompt, of a scenario that answers token by token; 0 in all others."""
    growing_cache: bool = False
    """Whether its cache of keys and values grows with the sequence; else it has a fixed size, that of the context."""

    @property
    def definition(self) -> Scenario:
        """The registered definition of its scenario."""
        return scenarios.get(self.scenario)

    @property
    def items(self) -> int:
        """Items of one call, where the time of an item counts."""
        return self.batch * self.definition.items_per_input

    @property
    def launched_for(self) -> str:
        """The model, or `operators`: the same launches answer all operators, one after the other."""
        return self.scenario if self.definition.operators else self.model

    @property
    def kv_cache(self) -> KVCache:
        """The cache of a case that answers token by token; of no meaning in others."""
        return "growing" if self.growing_cache else "static"

    @property
    def rate_unit(self) -> str:
        """`items/s`, or what else is counted."""
        one = self.definition.item
        return f"{one.removesuffix('y')}ies/s" if one.endswith("y") else f"{one}s/s"

    @property
    def timed(self) -> bool:
        """Whether single calls are timed, in windows."""
        return self.definition.timed

    @property
    def stays_on_device(self) -> bool:
        """Whether inputs and outputs stay in the GPU's memory: else copies would be most of what is timed."""
        return self.definition.on_device or (self.definition.operators and self.device != "cpu")

    def otherwise(self, settings: Mapping[str, str]) -> str:
        """Return how a launch computes, by its settings, that the case does not ask for; empty: it does not."""
        count = re.match(r"[0-9]{1,9}", settings.get("threads", ""))
        if count is not None and int(count[0]) != self.threads:
            return f"on {int(count[0])} threads"
        # As backends say it (`backends.info`).
        plain = self.precision != "fp32" and settings.get("precision") == "everything in fp32"
        return "everything in fp32" if plain else ""

    @property
    def per_item(self) -> bool:
        """Whether what counts is the time of an item, not of a call."""
        return self.definition.per_item

    @property
    def imported(self) -> bool:
        """Whether another tool measured it, whose file says neither precision nor batch, threads or device."""
        return self.precision == UNKNOWN

    @property
    def one_by_one(self) -> bool:
        """Whether it counts items a second of calls of one item each: older runs called this throughput."""
        chosen = self.definition.batched and not self.definition.from_dataset and not self.definition.driven
        return self.batch == 1 and chosen and not self.imported

    @property
    def trains(self) -> bool:
        """Whether a call is a training step."""
        return self.definition.trains

    @property
    def converges(self) -> bool:
        """Whether a small sibling of the model is trained to a target accuracy."""
        return self.definition.to_target

    @property
    def learns(self) -> bool:
        """Whether a network is trained: by steps that are timed, or to a target."""
        return self.definition.learns

    @property
    def question(self) -> str:
        """What an output belongs to: the model, or its training, whose outputs are verified in another way."""
        together = f" in {self.processes} processes" if self.processes > 1 else ""
        if self.depth:
            return f"{self.model} {self.scenario} at {self.depth}{', growing cache' if self.growing_cache else ''}"
        return f"{self.model} {self.scenario}{together}" if self.trains or self.converges else self.model

    @property
    def id(self) -> str:
        """`resnet50/latency/fp32/b1/t2/cpu`; then `/p2` of two processes, `/d128/growing` of tokens.

        `sort a list/latency/unknown` where another tool measured it: the rest is not known.
        """
        if self.imported:
            return f"{self.model}/{self.scenario}/{UNKNOWN}"
        together = f"/p{self.processes}" if self.processes > 1 else ""
        together += f"/d{self.depth}" if self.depth else ""
        together += "/growing" if self.growing_cache else ""
        return f"{self.model}/{self.scenario}/{self.precision}/b{self.batch}/t{self.threads}/{self.device}{together}"


class Arm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A backend, its image and settings, with an ordinal so that the same arm can be measured twice."""

    backend: str
    image: str
    variant: str = "cpu"
    version: str | None = None
    """Name of the lock, where it is not the current one."""
    settings: dict[str, str] = {}
    ordinal: int = 1
    inject: str = ""
    """An injected slowdown (`5%`, `0.001`): the run is labelled and is not a result."""
    launcher: Literal["", "docker", "venv", "host"] = ""
    """Launcher of its workers, where the arms of a run have different ones; empty: that of the run."""

    @property
    def id(self) -> str:
        """`onnxruntime`, `onnxruntime@1.30.0`, `torch@cu13`, `onnxruntime#2`; settings follow a `+`."""
        settings = self.settings | ({"launcher": self.launcher} if self.launcher else {})
        behind = "".join(f"+{key}={value}" for key, value in sorted(settings.items()))
        ordinal = f"#{self.ordinal}" if self.ordinal > 1 else ""
        return f"{self.backend}{references.suffix(self.variant, self.version)}{behind}{ordinal}"


def elsewhere(launcher: str, of_run: str) -> str:
    """Return the launcher of an arm or image where it is not the run's own; else an empty string."""
    return launcher if launcher != of_run else ""


class Failure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why an arm has no result."""

    stage: Literal["image", "launch", "load", "verify", "measure", "stop"]
    kind: FailureKind
    message: str
    detail: str = ""
    """Traceback or the end of the worker's standard error, at most a few kilobytes."""


class TrainingErrors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Errors of a training against the float64 reference, or their tolerances (`zoo.training.parity`)."""

    losses: float | Absent
    """The largest relative error of the first ten losses."""
    gradients: float | Absent
    """Of the gradients' norms in the first step, relative."""
    weights: float | Absent
    """Of the weights' change over ten steps, relative, estimated by random signs."""
    statistics: float | Absent
    """The same of BatchNorm's running statistics."""
    update: float | Absent = Absent("an older version did not check the update rule by itself")
    """The largest of a tensor's weights after steps with given gradients (`zoo.training.update`), relative."""


class TrainingParity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ten steps of training compared with the float64 reference."""

    batch: int
    """Items in each step."""
    losses: tuple[float, ...]
    reference: tuple[float, ...]
    """The reference's losses."""
    errors: TrainingErrors
    tolerances: TrainingErrors


class Parity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An output compared with the float64 reference; of a training, its losses are the output."""

    equal: bool
    relative_error: float | Absent
    """‖out − ref‖₂ / ‖ref‖₂."""
    centred_error: float | Absent
    """The same after subtracting the mean over the inputs."""
    max_abs_error: float | Absent
    tolerance: float
    inputs: int
    """How many inputs were compared."""
    projection: tuple[float, ...]
    """Fixed seeded projection of the output (64 numbers), which shows drift years later; of a training, its losses."""
    output_sha256: Sha256
    reason: str = ""
    """Why it is not equal, in words."""
    cosine: float | Absent = Absent("an older version did not compute it")
    """Of the angle between the output and the reference."""
    top_1: float | Absent = Absent("its output is no vector of classes")
    """Share of inputs whose largest number is the same one as the reference's."""
    rounding_error: float | Absent = Absent("asked for lower precisions only")
    """Error of the reference with its weights rounded to the claimed precision, to which the error is compared."""
    computed_in: str = ""
    """The precision that it was computed in, by `zoo.honesty`; empty: not determined."""
    emulated: str = ""
    """How the claimed precision was emulated, where the framework reports it."""
    training: TrainingParity | None = None
    """None: no training was compared."""
    element_error: float | Absent = Absent("an older version did not compute it")
    """Largest error of a single number, |out − ref| / (|ref| + the scale of its row)."""
    element_tolerance: float | Absent = Absent("an older version did not compute it")
    """How far single numbers of the reference move when weights and inputs are rounded (`zoo.sensitivity`)."""
    centred_tolerance: float | Absent = Absent("an older version did not record it")
    """Largest centred error that counts as equal; of a user's own file the centred error decides nothing."""
    doubt: str = ""
    """Of an ONNX file to which `onnx`'s evaluator in float64 answers otherwise than the reference: which of the two it
    is, so that `equal` says no more than that; empty: there is one reference, or it is wrong by both."""


class Noise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the machine did during a window, from outside the workers. Differences over `elapsed_ns`."""

    elapsed_ns: int
    steal_ns: int | Absent
    """CPU time that the hypervisor gave to other machines, summed over CPUs."""
    pressure_ns: int | Absent
    """Time in which some task waited for a CPU (`/proc/pressure/cpu`, some)."""
    others_ns: int | Absent
    """CPU time of all processes but the workers and the supervisor."""
    supervisor_ns: int
    """CPU time of the supervisor within the window: from its request until it last fell asleep to wait."""
    idle_workers_ns: int | Absent
    """CPU time of the workers whose turn it was not."""
    context_switches: int | Absent
    major_faults: int | Absent
    swapped_pages: int | Absent
    frequency_khz: int | Absent = Absent("not asked")
    temperature_mc: int | Absent = Absent("not asked")
    throttled: int | Absent = Absent("not asked")
    quota_throttled: int | Absent = Absent("not asked")
    """In how many periods quotas stopped control groups of the supervisor or a worker."""
    package_energy_uj: int | Absent = Absent("not asked")
    """Energy that the processor's packages took (RAPL), microjoules: of the whole machine, by all processes."""


class Convergence(Watched, frozen=True, forbid_unknown_fields=True):
    """A training to a target accuracy (`zoo.training.convergence`)."""

    network: str
    """Name of what was trained: a small sibling of the case's model."""
    seed: int
    """Of the weights it began with and the order of its batches; the generation's index."""
    target: float
    """Accuracy that was to be reached."""
    limit: int
    """Steps it may take."""
    points: tuple[Evaluation, ...]
    """In the order of steps; to the limit, or to where it diverged."""
    diverged: str = ""
    """Why it ended before the limit; empty: it did not."""
    weights_sha256: Sha256 = ""
    """Of the weights it began with."""
    inputs_sha256: Sha256 = ""
    """Of images, labels, their split and the order of batches."""
    noise: Noise | None = None
    """What the machine did meanwhile."""
    disturbed: Disturbed = ()
    """By which outside signals; empty: by none."""


class LoadGenTest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One test of MLPerf LoadGen, by its own logs; scaled down, so that it is no MLPerf result."""

    valid: bool
    """LoadGen's own verdict: VALID or INVALID."""
    why_invalid: str
    """What LoadGen says of it, in its own words; empty where it is valid."""
    queries: int
    samples: int
    percentiles_ns: dict[str, int]
    """Of the latency of a query (`90`, `99`, …), as LoadGen computes them; empty in Offline, which has one query."""
    per_second: float | Absent
    """Samples answered in a second, as LoadGen computes them."""
    elapsed_ns: int
    """Of the whole test, LoadGen's start and end included."""
    offered_per_second: float | None = None
    """Queries that LoadGen was asked to send in a second (Server)."""
    scheduled_per_second: float | Absent = Absent("only Server has a schedule")
    """Those that it did send."""
    late: int | Absent = Absent("only Server has a latency target")
    """Queries that took longer than the target."""
    not_served: int = 0
    """Queries that had waited so long that they were given up, and answered without a call (Server)."""
    summary: Annotated[str, msgspec.Meta(max_length=LOADGEN_SUMMARY_CHARS)] = ""
    """LoadGen's `mlperf_log_summary.txt`, as it wrote it."""


class LoadGenLaunch(Watched, frozen=True, forbid_unknown_fields=True):
    """What MLPerf LoadGen found of one worker: its tests, and windows of this tool's own between them."""

    version: str
    scenario: LoadGenScenario
    settings: dict[str, float]
    """Settings of LoadGen that were given to it, by its own names; all others are those of its `mlperf.conf`."""
    rules: dict[str, float]
    """The same settings as MLPerf's rules have them for this model and scenario: what was scaled down."""
    tests: tuple[LoadGenTest, ...]
    """In order."""
    own: tuple[Window, ...] = ()
    """Windows of the same calls, on the same worker, with no LoadGen; in SingleStream one beside each test."""
    target_ns: int | None = None
    """Latency that the 99th percentile of queries must not exceed (Server)."""
    detail: Annotated[str, msgspec.Meta(max_length=LOADGEN_DETAIL_CHARS)] = ""
    """LoadGen's `mlperf_log_detail.txt` of the test that decides; empty in all launches of an arm but the first."""
    noise: Noise | None = None
    """What the machine did meanwhile."""
    disturbed: Disturbed = ()
    """By which outside signals; empty: by none."""


class Launch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One worker from start to exit, for one arm."""

    arm: str
    started: str
    """UTC, ISO 8601."""
    startup: Startup | None = None
    weights_sha256: Sha256 = ""
    """Of what the worker read; in later launches of an arm, of the same file, which had not changed since the first."""
    inputs_sha256: Sha256 = ""
    """Of the batch that it was compiled for."""
    timed_inputs: int = 1
    """Batches of inputs that the timed calls took in turn."""
    timed_inputs_sha256: Sha256 = ""
    """Of these batches; empty where there was one, or where the calls read a dataset."""
    onnx_sha256: Sha256 = ""
    """Digest of the model file that it read, ONNX or another format; empty: it read none."""
    framework_version: str = ""
    settings: dict[str, str] = {}
    parity: Parity | None = None
    computed: Computed | None = None
    """None: it was not asked, or does not say; on a CPU the first launch of an arm in a case is asked."""
    parity_after: Parity | None = None
    """The same after the last timed window, without its projection; where it is not equal, `parity` is not either."""
    warmup: tuple[Window, ...] = ()
    """Windows taken before the first round; all samples kept."""
    memory: Memory | None = None
    libraries: tuple[Library, ...] = ()
    environment: dict[str, str] = {}
    environment_padding_bytes: int | None = None
    """Random length of an environment variable that nothing reads; None: no worker was launched, or none was added."""
    cache_warm: bool = True
    """False: compile caches were empty."""
    served: tuple[str, ...] = ()
    """Cases that the same process answered before this one, in order; then `start_ns` and `import_ns` are 0."""
    convergence: Convergence | None = None
    """None: nothing was trained to a target."""
    loadgen: LoadGenLaunch | None = None
    """None: LoadGen did not drive it."""
    all_reduce: None = None
    """Nothing; published records have the field."""
    failure: Failure | None = None


class DeviceUse(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the GPU did during a window, as NVML reports it outside the workers (see `machine.device_use`)."""

    elapsed_ns: int
    energy_mj: int | Absent
    """Of the whole GPU over `elapsed_ns`, millijoules: idle workers hold memory and compute nothing."""
    power_mw: int | Absent
    utilisation_percent: int | Absent
    """Share of NVML's own last sampling period in which some kernel ran."""
    memory_utilisation_percent: int | Absent
    sm_clock_mhz: int | Absent
    memory_clock_mhz: int | Absent
    temperature_c: int | Absent
    throttled: tuple[str, ...] | Absent
    """Why the clock was below the highest, in words; empty: it was not."""
    memory_bytes: int | Absent
    """Of the GPU's memory, what the worker whose window it was held."""
    ecc_errors: int | Absent
    """Uncorrected memory errors during the window."""
    xid_errors: Integers | Absent = Absent("not asked")
    """Codes of the errors that NVIDIA's driver reported (XID) since the window before, in the order they came."""


class IdleWait(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The wait before a window, until all workers had stopped computing (`machine.quiet`)."""

    waited_ns: int
    busy: tuple[str, ...] = ()
    """Arms whose workers were still computing at the limit, when the window began; empty: none."""
    unseen: tuple[str, ...] = ()
    """Arms whose workers' CPU clocks cannot be read here: the calls before the window last for a fixed time instead."""


class MachineLevels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The low mode of each part of a probe (`record.states`), and how many probes lie in it."""

    arithmetic_ns: int
    memory_ns: int
    pages_ns: int

    probes: int
    """Of the run until then."""
    low_share: float
    """Share of them whose arithmetic lies in the low mode."""
    high_share: float
    """Share of them whose arithmetic lies in another mode."""
    kept: bool
    """Whether earlier runs on this machine had seen its low mode beside another one."""


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One arm's window within a round."""

    arm: str
    window: Window | None
    noise: Noise | None = None
    failure: Failure | None = None
    device: DeviceUse | None = None
    """None: no GPU was used."""
    settling: IdleWait | None = None
    """None: an earlier version did not wait, but made unrecorded calls for a fixed 40 ms."""
    settled: IdleWait | None = None
    """The same wait after the window, where the machine was probed then. None: it was not."""
    probed_before: MachineProbe | Absent | None = None
    """State of the machine right before the window, as the canary's process saw it. None: an earlier version."""
    probed_after: MachineProbe | Absent | None = None
    """The same once all workers had stopped computing again."""
    polled_ns: Integers = ()
    """Arithmetic of the probes that found the machine not calm before that, while its window waited."""
    outside: tuple[Reason, ...] = ()
    """Outside signals beyond their limits in this window alone, where the machine was probed."""


class Round(Watched, frozen=True, forbid_unknown_fields=True):
    """The turns of every arm (and the canary), in the order they were taken.

    An arm has several where the machine was not calm in its window, which was then taken again.
    """

    index: int
    turns: tuple[Turn, ...]
    disturbed: Disturbed = ()
    """By which outside signals; empty: by none."""
    repeats: int = 0
    """How many disturbed attempts came before this one (they are kept as rounds of their own)."""


class Generation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All arms of a block launched together."""

    index: int
    seed: int
    launches: tuple[Launch, ...] = ()
    rounds: tuple[Round, ...] = ()
    complete: bool = False
    levels: MachineLevels | None = None
    """Of all probes of the run until the end of this generation. None: nothing was probed, or by an earlier version."""
    looked: tuple[MachineProbe, ...] = ()
    """Probes of the run's first look at the machine, before the first round of its first generation."""


class Left(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An arm that an earlier version did not launch again, because other arms were certainly faster."""

    arm: str
    launches: int
    """Generations of the block when it left."""
    behind: tuple[str, ...]
    """Arms that were certainly faster; empty: it is the control of an arm that left."""


class Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One case with all its arms."""

    case: Case
    arms: tuple[Arm, ...]
    planned_generations: int
    generations: tuple[Generation, ...] = ()
    canary: str | None = None
    """Arm id of the canary in this block's rounds."""
    left: tuple[Left, ...] = ()
    """Of records of earlier versions: arms that were not launched again, in the order in which they were left out."""


class Image(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a worker ran in."""

    name: str
    variant: str
    launcher: Literal["docker", "venv", "host"]
    tag: str = ""
    image_id: Annotated[str, msgspec.Meta(pattern=r"^(sha256:[0-9a-f]{64})?$(?!\n)")] = ""
    layers: tuple[Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$(?!\n)")], ...] = ()
    lock_sha256: Sha256 = ""
    base: str = ""
    """Which base, and its digest."""
    recipe_sha256: Sha256 = ""
    worker_sha256: Sha256 = ""
    """Digest of the part of the suite that runs inside, and of the code of plug-ins."""
    plugins: dict[str, str] = {}
    """Distributions that bring the backend or models that run inside, and their versions (docs/plugins.md)."""
    python: str = ""
    architecture: str = "x86_64"
    """Kind of processor that it is for."""
    distributions: dict[str, str] = {}
    """Every installed distribution and its version, as read inside."""
    size_bytes: int | Absent = Absent("not asked")
    unlocked: str = ""
    """Why this is not what a lock names (the `host` launcher); the report's first lines show it."""


class Artifact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file handed to workers: an ONNX export, a weights file."""

    name: str
    sha256: Sha256
    size_bytes: int
    made_by: dict[str, str] = {}


class Roofline(RooflineSamples, Watched, frozen=True, forbid_unknown_fields=True):
    """What NumPy reached here before the first block."""

    last_cache_bytes: int | Absent
    """Size of all last-level caches of the CPUs that are measured."""
    disturbed: Disturbed = ()
    """By which outside signals; empty: by none."""


class Warning_(msgspec.Struct, frozen=True, forbid_unknown_fields=True):  # noqa: N801  (Warning is a builtin)
    """A warning for the reader, with its remedy."""

    code: str
    message: str
    remedy: str = ""
    about: str = ""
    """Result, block or image that it concerns; empty: the whole run."""


class OwnInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An input of a user's own file."""

    name: str
    dtype: str
    shape: Integers
    """Without its batch."""
    batched: bool
    """Whether it has the batch among its dimensions."""
    sha256: Sha256 = ""
    """Of the `.npy` file with the user's own values; empty: they are seeded."""
    axis: int = 0
    """Which dimension is the batch, where it is batched."""
    least: int = 0
    """Added to seeded whole numbers: 1 where something is divided by them."""


class OwnSizes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A user's own file with other sizes, or another of its functions; its fields are those of `OwnFile`."""

    model: str
    inputs: tuple[OwnInput, ...] = ()
    dimensions: dict[str, int] = {}
    function: str = ""


class OwnFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A user's own file, measured instead of the built-in models: of ONNX, or a network in Python."""

    model: str
    """Its name in cases: the file's name and the first characters of its digest."""
    file: str
    """Its name, without the folder it lay in."""
    sha256: Sha256
    size_bytes: int
    """Of all of it, with the files beside it."""
    inputs: tuple[OwnInput, ...]
    outputs: tuple[str, ...]
    precision: str
    """That of its weights: `fp32`, `fp16`, `bf16`, or `int8` and `int4` where it is quantised."""
    opset: int
    dimensions: dict[str, int] = {}
    """Sizes that the user gave to dimensions without one, by name."""
    beside: dict[str, str] = {}
    """Files with its weights, where they are not in it: name to SHA-256."""
    function: str = ""
    """Of a Python file: the function that makes the network and its inputs; empty: it is an ONNX file."""
    framework: str = ""
    """Of a Python file: the module that it imports, `torch`, `jax` or `tensorflow`."""
    also: tuple[OwnSizes, ...] = ()
    """Further sizes, or functions, that were asked for."""

    @property
    def sized(self) -> tuple["OwnFile", ...]:
        """It with each of its sizes or functions: a model of its own in cases."""
        return (self, *(made_of(OwnFile, each, self, also=()) for each in self.also))

    @property
    def functions(self) -> str:
        """As `--model` takes them."""
        return ",".join(each.function for each in self.sized)

    @property
    def given_sizes(self) -> dict[str, tuple[int, ...]]:
        """Return the sizes that were asked for, by dimension."""
        return {
            name: tuple(dict.fromkeys(each.dimensions[name] for each in self.sized if name in each.dimensions))
            for name in self.dimensions
        }

    @property
    def batched(self) -> bool:
        """Whether it takes batches of any size; else a call is what its shapes say, and counts as one item."""
        return any(each.batched for each in self.inputs)


class OwnWeights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A folder with weights of a user's own, read into a network of the zoo; neither where it was nor its name."""

    model: str
    """Name in cases: the network's family, the beginning of the digest, and the sizes that are not the usual ones."""
    family: str
    """`model_type` of its configuration."""
    sha256: Sha256
    """Of the files that were read: names and contents."""
    files: dict[str, str]
    """Their names and their SHA-256."""
    size_bytes: int
    dtypes: tuple[str, ...]
    """In which the tensors were saved (`F32`, `BF16`); all are measured from float32."""
    config: dict[str, str]
    """Fields of the configuration that say how the network computes."""


MetricName: TypeAlias = Literal[
    "top-1",
    "top-5",
    "exact match",
    "F1 of words",
    "accuracy",
    "F1",
    "Matthews correlation",
    "Pearson correlation",
    "Spearman correlation",
]
"""By what answers to a data set are judged; `analysis.accuracy` computes each."""
Scores: TypeAlias = tuple[float, ...]


class DataSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A data set with labels that answers were judged on; neither where it was nor what its files are called."""

    task: str
    """Name that `--data` has for it, such as `imagenet`."""
    title: str
    model: str
    """The network that answered it."""
    metrics: tuple[MetricName, ...]
    sha256: Sha256
    """Of the items that were answered: names and contents, as `sha256sum` prints them, or of the file of texts."""
    available: int
    """Items that the set holds."""
    items: Integers
    """Which of them were answered, in the order of the set, from 0."""
    labels: Integers = ()
    """Number of each item's class; empty: it has none."""
    scores: Scores = ()
    """What is right of each item, where that is a score."""
    vocabulary_sha256: Sha256 = ""
    """Of the pieces that texts were split into; empty: there were no texts."""
    prepared_by: dict[str, str] = {}
    """What decoded or split the items, with its version."""


class Accuracy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one arm answered to a data set in one precision, item by item, in the order of `DataSet.items`."""

    task: str
    model: str
    precision: str
    device: str
    batch: int
    arm: str
    answers: Integers = ()
    """Of each item: the class, or the first 56 bits of the SHA-256 of a text."""
    right: dict[str, Integers] = {}
    """By metric: 1 where an item's answer is right, 0 where it is not."""
    shares: dict[str, Scores] = {}
    """By metric, how far each item's answer is right: 0 … 1."""
    scores: Scores = ()
    """Of each item, where a score is the answer."""
    equal: bool | None = None
    """Whether the same worker's outputs were equal to the reference; None: they were not compared."""
    failure: Failure | None = None
    """None: all items were answered."""


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an hour of one machine costs, as the user said."""

    per_hour: float
    currency: str = ""
    """A sign or a code (`€`, `EUR`), which nothing converts; empty: none was named."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The requested settings, from which the same plan can be made again."""

    profile: str
    models: tuple[str, ...]
    backends: tuple[str, ...]
    scenarios: tuple[str, ...]
    precisions: tuple[str, ...]
    batches: dict[str, Integers]
    """Batch sizes of the throughput scenario, by model."""
    threads: int
    """Of every worker; where several numbers were requested, the largest."""
    cpus: Integers
    generations: int
    rounds: int
    budget_seconds: float | None
    precision_target: float | None
    """Half-width every log ratio was to reach; None: a fixed number of generations. Intervals widen accordingly."""
    margin: float
    seed: int
    launcher: Literal["docker", "venv", "host"]
    launcher_reason: str = ""
    """Why this launcher, where it was not the user's own choice."""
    timed_region: str = "NumPy array in host memory in, completed NumPy array in host memory out"
    gpu: int | None = None
    """Index of the GPU that was used, as NVML counts (its name is in the fingerprint); None: none was."""
    worker_memory_bytes: int | None = None
    """What one worker may take at the most; None: an earlier version did not record it."""
    thread_counts: Integers = ()
    """All numbers of threads that were requested, where there were several; each case has its own."""
    decoding_batches: dict[str, Integers] = {}
    """Batch sizes of the scenarios that answer token by token, by model."""
    training_batches: dict[str, Integers] = {}
    """Batch sizes of the training scenario, by model."""
    process_counts: Integers = ()
    """Numbers of processes that train together; empty: one. Each case has its own."""
    host_counts: tuple[()] = ()
    """Earlier versions recorded it; always empty."""
    depths: Integers = ()
    """Tokens of the prompts where models answer token by token; empty: none does. Each case has its own."""
    kv_caches: tuple[KVCache, ...] = ()
    """Caches of keys and values with which they answer; empty: none does so, or all are static, in earlier versions."""
    own: OwnFile | None = None
    """The user's own file that was measured; None: this tool's models were."""
    own_weights: tuple[OwnWeights, ...] = ()
    """Weights of the user's own that were measured."""
    own_images: None = None
    """Of records of earlier versions: what the scenario `convergence` trained on; None: the digits."""
    target: float | None = None
    """Target accuracy that was requested for the scenario `convergence`; None: those of the networks."""
    ends_on_verdict: bool = False
    """Whether a block was finished as soon as it had a verdict; intervals widen accordingly."""
    clock_seconds: float | None = None
    """The number of launches is that of passes over all cases within so many seconds; None: another rule ended it."""
    races: bool = False
    """Of records of earlier versions: whether arms that were certainly slower were left out; intervals are wider."""
    cpus_requested: Integers | Literal["all"] | None = None
    """CPUs to choose from; empty: those of one NUMA node and one kind of core; None: an earlier version, from all."""
    memory_nodes: Integers | Absent | None = None
    """NUMA nodes that the memory of the largest worker was bound to; None: an earlier version did not record it."""
    loadgen_test_s: float | None = None
    """Shortest test of MLPerf LoadGen that was requested, in seconds; None: that of the profile."""
    latency_target_ms: float | None = None
    """Latency that LoadGen's Server scenario was to hold; None: that of MLPerf's rules for the model."""
    price: Price | None = None
    """Of this machine, to show what times cost; None: none was given."""
    carbon_g_per_kwh: float | None = None
    """Of records of earlier versions: grams of CO2 equivalents of a kilowatt-hour; nothing shows it."""
    max_slowdown: float | None = None
    """Of the gate of an `ab`; None: it had none, or an earlier version recorded it only in the command."""


Fingerprint: TypeAlias = dict[str, dict[str, Fact]]
"""Group (`cpu`, `memory`, `kernel`, `engine`, …) to name to value."""


def is_volatile(group: str, name: str) -> bool:
    """Return whether a fact is measured anew each time, follows the load of the moment, or says who named an engine."""
    changing = {("kernel", "timer step ns"), ("engine", "named by")}
    return (group, name) in changing or (group == "gpu" and name.endswith(" PCIe generation now"))


class Calibrated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a calibration had shown of this machine before the run: A/A runs alone, which earlier versions made."""

    finished: str
    backend: str
    model: str
    launches: int
    """Of each of the two identical arms, in every A/A run."""
    runs: int
    different: int
    """Runs in which identical arms were called different."""
    same: int
    """Runs in which they were shown to be the same within the margin."""
    margin: float
    minimum_detectable_effect: float | None
    """Relative slowdown that such a run finds in 95 % of cases at 95 % confidence; None: the runs are too few."""


class ControlDraw(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one run found between an arm and its identical twin, time over time; the truth is 1."""

    run: str
    started: str
    arm: str
    case: str
    ratio: float
    low: float | None = None
    high: float | None = None


class Imported(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file of another tool that a run was made of (`imported`): Levelfield measured none of it.

    No output was compared and nothing watched the machine. Counters that a window has to have are 0 there: not known.
    """

    tool: str
    version: str | Absent
    sha256: Sha256
    """Of the file."""
    recorded: str | Absent
    """When, UTC, ISO 8601. Absent: the file does not say, and the run starts with the import."""
    unknown: tuple[str, ...] = ()
    """What such a file does not say and a run of Levelfield does, each a clause."""
    left_out: tuple[str, ...] = ()
    """What the file has and the run has not, each with the reason."""


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: int
    id: str
    started: str
    tool_version: str
    tool_sha256: Sha256
    command: tuple[str, ...]
    settings: Settings
    machine: Fingerprint
    images: tuple[Image, ...]
    artifacts: tuple[Artifact, ...]
    blocks: tuple[Block, ...]
    bases: dict[str, BaseLock] = {}
    """What the bases of images were made of, by `Image.base`; nothing of one that was pulled."""
    warnings: tuple[Warning_, ...] = ()
    finished: str | None = None
    """None: the run was interrupted; the record has what was measured until then."""
    supervisor_window_share: float | Absent = Absent("no window was measured")
    """The supervisor's CPU time during windows, as a share of one core."""
    resumed: tuple[str, ...] = ()
    """When the run was resumed."""
    labels: tuple[str, ...] = ()
    """`smoke`, `injected`, `demonstration`: what this run may not be used for."""
    calibrated: Calibrated | None = None
    """None: this machine had not been calibrated when the run began, or by a version that makes none."""
    earlier_controls: tuple[ControlDraw, ...] = ()
    """Of the runs in the same folder and on the same machine, before this one; newest first."""
    work: tuple[Work, ...] = ()
    """By model and batch, for every case of the plan whose model can be counted."""
    roofline: tuple[Roofline, ...] | Absent = Absent("it was not measured")
    """One for each number of threads that a case on the CPU has."""
    time_spent_s: dict[str, float] | None = None
    """Wall-clock time by `Phase`, without the time lost in a kill; None: an earlier version did not measure it."""
    other_hosts: tuple[()] = ()
    """Earlier versions recorded it; always empty."""
    field_outputs: tuple[dict[str, Any], ...] = ()
    """Of records of earlier versions; no reader uses them."""
    imported: Imported | None = None
    """The file of another tool that this run was made of; None: Levelfield measured it."""
    data_sets: tuple[DataSet, ...] = ()
    """On which answers were judged."""
    accuracies: tuple[Accuracy, ...] = ()
    """In the order in which arms answered."""

    @property
    def of_float64(self) -> bool:
        """Whether a user's own network was compared with its own answer in float64."""
        return any("float64" in artifact.made_by for artifact in self.artifacts)
