"""The protocol of a supervisor and a worker: one JSON object a line.

The supervisor sends one request and reads one reply; a worker writes nothing else but the `Ready` line at its
start. Times are integer nanoseconds of the worker's own monotonic clock, differences only: no clock is compared
between processes.
"""

from typing import Literal, TypeAlias

import msgspec

from levelfield.backends.info import ONNX
from levelfield.backends.parallel import Replica
from levelfield.backends.profiling.operators import Operator
from levelfield.record.measured import (
    Computed,
    Evaluation,
    Library,
    MachineProbe,
    Memory,
    RooflineSamples,
    Sha256,
    Startup,
    Window,
)
from levelfield.zoo.spec import Own, OwnInput, Sensitivity

PROTOCOL = 2
"""Version of this vocabulary; a worker that speaks another one is refused."""

FROM_DATASET = "data-pipeline"
"""Scenario whose batches come from a dataset on disk."""


class NotLoadedError(RuntimeError):
    """A request came before the `Load` that it needs: a mistake of the supervisor."""


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a worker serves until it is given another task of the same arm."""

    backend: str
    model: str
    batch: int
    threads: int
    scenario: str = "latency"
    precision: str = "fp32"
    device: str = "cpu"
    weights_path: str | None = None
    """File made by `zoo.weights.save`, as the worker sees it; None: the worker makes the weights itself."""
    file_path: str | None = None
    """Model file, of the format that the backend reads; None: it computes a definition of its own."""
    file_sha256: str | None = None
    cache_path: str | None = None
    """Folder for the framework's own compile cache; None: no cache is kept (cold start)."""
    dataset_path: str | None = None
    """File as the worker sees it, made by `zoo.dataset.save` (scenario `data-pipeline`)."""
    settings: dict[str, str] = {}
    """Settings asked for beyond the backend's idiomatic ones."""
    processes: int = 1
    """That train together, each with so many threads and an equal share of the batch (scenario `training`)."""
    depth: int = 0
    """Tokens of the prompt, of a scenario that answers token by token (`zoo.decoding.Call`)."""
    growing_cache: bool = False
    """Whether its cache of keys and values grows with the sequence; else it has a fixed size."""
    own: Own | None = None
    """Inputs of the user's own file that `file_path` is; None: it is one of this tool's models."""


class Load(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="load"):
    """Load a task, unless it is loaded already; what was loaded before is let go, and the framework stays as it was."""

    task: Task
    launch_measured: bool = True
    """Nothing is done to hasten this launch, and its first call is timed too: while others load, it would only wait."""
    hash_files: bool = True
    """Whether the weights, or the model file, are hashed; False: an earlier launch hashed them, unchanged since."""


class Verify(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="verify"):
    """Run the model over inputs 0 … `count`-1, in batches of the task's size, and return every output."""

    count: int
    again: bool = False
    """After the timed windows: a feed has gone past these inputs, so they are read from the dataset without it."""
    ask_computed: bool = True
    """Whether the framework is also asked in what it computes; that may take longer than the answers."""
    draw: int | None = None
    """Of moved inputs (`zoo.sensitivity`), for a user's own network; None: they are as they are."""


class Rotate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="rotate"):
    """Make the inputs of the timed calls: so many batches of the task's size, from item 0 on, to be taken in turn."""

    sets: int


class Train(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="train"):
    """Begin again from the seeded weights and take steps, each with a batch of its own (scenario `training`)."""

    steps: int
    batch: int
    """Items in each of these steps, whatever the task's batch is."""
    ask_computed: bool = False
    """Whether the framework is asked in what it computes a step."""


class CheckUpdate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="check-update"):
    """Take the steps with given gradients of `zoo.training.update`, then begin again from the seeded weights.

    Of the scenarios `training` and `convergence`.
    """

    learning_rate: float
    """What the learning rate is multiplied by in these steps: the supervisor says it, by its own recipe."""
    weight_decay: float
    """What the weight decay is multiplied by."""


class Converge(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="converge"):
    """Train from a seed's weights, in a seed's order of batches, as `zoo.training.convergence` says."""

    seed: int


class Measure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="measure"):
    """Take one timed window.

    First unrecorded calls (at least `rewarm_calls`, and until `rewarm_ns` have passed), then timed calls until
    `window_ns` have passed and at least `min_calls` were made, never more than `max_calls`.
    """

    window_ns: int
    min_calls: int = 1
    max_calls: int = 1_000_000
    rewarm_ns: int = 0
    rewarm_calls: int = 1
    inject_ns: int = 0
    """A true busy-wait added inside each timed call, to measure the power of the method; such runs are labelled."""


class Drive(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="drive"):
    """Let a plug-in's file make the calls: its `drive(request, step, inputs, batch)`, of a scenario that it brings."""

    path: str
    """Of the Python file, as the worker sees it."""
    request: dict[str, int | float | str | dict[str, int | float]]


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="profile"):
    """Run what is loaded under its framework's own profiler, between two plain windows.

    Each window is preceded by calls that are not recorded (at least three, and until `rewarm_ns` have passed).
    """

    window_ns: int
    """Of each of the three."""
    min_calls: int
    max_calls: int
    """Of what is profiled: every call leaves some hundred lines in a trace."""
    rewarm_ns: int


class Probe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="probe"):
    """Report the process: memory, loaded libraries, installed distributions, environment."""

    installed: bool = True
    """Whether installed distributions are listed: an image's are the same in all of its launches."""


class MeasureRoofline(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="measure-roofline"):
    """Find out how fast this machine multiplies matrices and moves memory, with NumPy alone (the canary's image)."""

    threads: int
    array_bytes: int
    """Of each of three arrays, all parts together: several times the last cache's size."""
    budget_ns: int
    """About how long either of the two may take."""


class ProbeMachine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="probe-machine"):
    """Find out in what state the machine is, on all CPUs that this process may use (the canary's image)."""

    buffer_bytes: int
    """Of the memory that is read, all CPUs together; made at the first request, several times the last cache's size."""


class PollMachine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="poll-machine"):
    """Do the arithmetic of the last probe alone: for one who asks again and again."""


class Join(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="join"):
    """From a leading worker to another one: train together with it and its other processes."""

    replica: Replica


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="step"):
    """From a worker to those it trains with: take a step of what is loaded; it has no reply."""


class Use(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="use"):
    """From a worker to those it trains with: report what the process has used since its start."""


class Export(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="export"):
    """Write the model as a file into `folder` (images of exporters only)."""

    model: str
    batch: int
    precision: str
    folder: str
    weights_path: str | None = None
    module: str = ONNX.module
    """What writes it (`backends.info.FileFormat`)."""
    own: Own | None = None
    """A user's own network in Python, which is exported as it is, with its inputs; None: one of this tool's models."""


class Sense(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="sense"):
    """Find out what a user's own ONNX file answers when it is rounded otherwise, and in float64 (images of exporters).

    ONNX Runtime computes the first, without its optimisations; `onnx`'s own evaluator the second.
    """

    file_path: str
    own: Own
    batch: int
    count: int
    """Items, of calls of this batch."""
    threads: int


class CallPlugin(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="call-plugin"):
    """Let a function of a plug-in's package answer, in an image that the plug-in brings."""

    module: str
    function: str
    request: msgspec.Raw
    """JSON, which the function decodes."""


class Predict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="predict"):
    """Run the model over items of a data set, in batches of the task's size, and return every output."""

    path: str
    """File of prepared items, as the worker sees it (`worker.items`)."""
    first: int
    count: int


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="stop"):
    pass


Answerable: TypeAlias = (
    Load
    | Verify
    | Rotate
    | Train
    | CheckUpdate
    | Converge
    | Measure
    | Drive
    | Profile
    | Probe
    | MeasureRoofline
    | ProbeMachine
    | PollMachine
    | Export
    | Sense
    | CallPlugin
    | Predict
    | Join
    | Use
)
"""Requests that have a reply."""
Request: TypeAlias = Answerable | Step | Stop


class Ready(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="ready"):
    """First line of a worker: it runs, and no framework has been imported yet."""

    protocol: int
    pid: int
    python: str


class Loaded(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="loaded"):
    startup: Startup
    version: str
    weights_sha256: Sha256
    inputs_sha256: Sha256
    settings: dict[str, str]
    """Effective settings, read back from the framework where it can say."""


class Used(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="used"):
    """What processes have used since their start, all threads."""

    user_ns: int
    system_ns: int
    voluntary_switches: int
    involuntary_switches: int
    minor_faults: int
    major_faults: int


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="measured"):
    window: Window


class Driven(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="driven"):
    """What a plug-in's `drive` returned."""

    answer: dict[str, int | float | str | dict[str, int | float]]
    elapsed_ns: int


class Output(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One output of a user's own file, of all calls, one after the other."""

    shape: tuple[int, ...]
    dtype: Literal["<f4", "<f8"]
    """Of the values as they are sent."""
    values: bytes
    """C order."""
    exact: bool
    """Whole numbers or truth values, of which no other is nearly the same."""


class Verified(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="verified"):
    shape: tuple[int, ...]
    output: bytes
    """float32, little endian, C order."""
    computed: Computed | None = None
    """What the framework reports that it computes in; None where it reports nothing."""
    outputs: tuple[Output, ...] = ()
    """Of a user's own file, all that it answers, in the file's order; then `output` is empty."""
    calls: Window | None = None
    """The calls that answered, timed: a slow model has warmed up by them; None where they are no calls of its own."""


class Rotated(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="rotated"):
    sets: int
    """Batches that the calls will take in turn: one where the backend has room for one only."""
    sha256: Sha256
    """Of these batches (`worker.sources.rotation_digest`)."""


class Trained(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="trained"):
    """Result of the steps, as `zoo.training.trajectory` defines it; all numbers are finite."""

    losses: tuple[float, ...]
    gradients: tuple[float, ...]
    weights: tuple[float, ...]
    statistics: tuple[float, ...]
    computed: Computed | None = None
    """What the framework reports that it computes a step in; None where it reports nothing, or was not asked."""


class Updated(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="updated"):
    """What the steps with given gradients made of the weights."""

    values: bytes
    """The elements that `zoo.training.update.sample` takes: float32, little endian."""


class Converged(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="converged"):
    """Result of a training to a target; all numbers are finite."""

    points: tuple[Evaluation, ...]
    losses: tuple[float, ...]
    """Of the first ten steps, to compare with the reference."""
    weights_sha256: Sha256
    inputs_sha256: Sha256
    """Of the images, their split and the order of batches."""
    diverged: str = ""
    """Why it ended early, in one sentence; empty: it did not."""


class Profiled(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="profiled"):
    source: str
    """Name of the profiler: `torch.profiler`."""
    operators: tuple[Operator, ...]
    """The longest first."""
    plain_ns: tuple[int, ...]
    """Calls before and after it, without the profiler."""
    profiled_ns: tuple[int, ...]
    note: str
    """What must be known to read it."""


class Probed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="probed"):
    memory: Memory
    libraries: tuple[Library, ...]
    distributions: dict[str, str]
    environment: dict[str, str]
    affinity: tuple[int, ...]
    python: str
    threads_alive: int


class RooflineMeasured(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="roofline-measured"):
    samples: RooflineSamples


class Polled(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="polled"):
    arithmetic_ns: int


class Exported(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="exported"):
    files: dict[str, str]
    """File name to SHA-256."""
    opset: int
    """Of ONNX; 0: the format has none."""
    versions: dict[str, str]
    inputs: tuple[OwnInput, ...] = ()
    """Of a user's own network: with paths relative to the folder."""
    answers: tuple[Output, ...] = ()
    """Of a user's own network: what it answers to them in float64."""
    unexported: str = ""
    """Why there is no file of a user's own network; empty: there is one."""
    unanswered: str = ""
    """Why there are no answers of a user's own network; empty: there are, or nobody asked."""
    sensitivities: tuple[Sensitivity, ...] = ()
    """Of these answers, one by one."""


class Sensed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="sensed"):
    """By output, in the file's order."""

    sensitivities: tuple[Sensitivity, ...]
    versions: dict[str, str]
    answers: tuple[Output, ...] = ()
    """In float64; empty: there are none."""
    unanswered: str = ""
    """Why there are none."""


class PluginCalled(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="plugin-called"):
    answer: msgspec.Raw
    """JSON of what the function returned: nothing of it is checked before it is decoded."""


class Predicted(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="predicted"):
    shape: tuple[int, ...]
    output: bytes
    """float32, little endian, C order."""
    items_sha256: Sha256
    """Of the items as the file holds them."""


class Joined(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="joined"):
    """It will; the engine connects to the other processes when something is loaded."""


class Failed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="failed"):
    """The request could not be served; the worker goes on."""

    kind: str
    """`unsupported`, `out-of-memory`, `error`; of a process that it trains with also `crashed`, `protocol`."""
    message: str
    """One sentence."""
    detail: str = ""
    """The traceback, for the record."""
    settings: dict[str, str] = {}
    """Of the arm, with which it did load; empty: none is known."""


Reply: TypeAlias = (
    Ready
    | Loaded
    | Verified
    | Rotated
    | Trained
    | Updated
    | Converged
    | Measured
    | Driven
    | Profiled
    | Probed
    | RooflineMeasured
    | MachineProbe
    | Polled
    | Exported
    | Sensed
    | PluginCalled
    | Predicted
    | Joined
    | Used
    | Failed
)
