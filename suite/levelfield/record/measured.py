"""What a worker measures: what it sends is what a record holds. Inside images too: imports msgspec alone."""

from typing import Annotated, Literal, TypeAlias

import msgspec

INT_LIMIT = 2**63
"""Integers are below this (three centuries in nanoseconds): larger ones do not fit into NumPy arrays."""
Integers: TypeAlias = tuple[Annotated[int, msgspec.Meta(ge=-INT_LIMIT, le=INT_LIMIT - 1)], ...]
"""Series of them, which are checked as they are decoded."""
Sha256: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{64})?$(?!\n)")]
"""A digest; empty: none is known."""
LoadGenScenario: TypeAlias = Literal["SingleStream", "MultiStream", "Server", "Offline"]
"""As LoadGen names them."""


class Absent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="absent"):
    """A value that is not known, and why; zero is never written instead."""

    reason: str


class Startup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Time of each phase of a launch's start."""

    start_ns: int
    """From the request to the launcher to the worker's first line, as the supervisor times it: a worker sends 0."""
    import_ns: int
    """Import of the framework and its configuration; 0 where an earlier task did that."""
    weights_ns: int
    """Reading (or making) the seeded weights and inputs: our own work, never part of cold start."""
    load_ns: int
    """Build and compile the model; with one throwaway call where the compiler has no call of its own."""
    first_call_ns: int | Absent = Absent("others were loading: only a cold start times it")


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One timed window of one worker, and what all its processes used in it."""

    rewarm_ns: Integers
    """Calls made before the window, kept and not counted."""
    samples_ns: Integers
    window_ns: int
    """From before the first timed call to after the last one."""
    user_ns: int
    system_ns: int
    voluntary_switches: int
    involuntary_switches: int
    minor_faults: int
    major_faults: int
    waited_ns: int | None = None
    """What of the samples was spent waiting for data, in all; None where none was waited for."""
    calls_per_sample: int = 1
    """Calls that each sample is the time of, together: other tools time short calls in loops (`Run.imported`)."""
    calls_not_kept: Annotated[int, msgspec.Meta(ge=0, le=INT_LIMIT - 1)] = 0
    """Timed calls beside the samples: of a window of many calls an even share is kept."""

    @property
    def calls(self) -> int:
        """All timed calls."""
        return len(self.samples_ns) * self.calls_per_sample + self.calls_not_kept


class Computed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a framework reports that it computes in, read back after it was set up."""

    products: dict[str, int]
    """Matrix products and convolutions by the type that they multiply: `fp32`, `bf16`, `int8`, …"""
    source: str
    """Where that was read: `OpenVINO's runtime graph`."""
    kernels: dict[str, int] = {}
    """The same products by who computes them: library and instruction set (`oneDNN, brg_matmul:avx512_core`)."""
    kernels_source: str = ""
    """Where that was read, or why it is not known; empty: not requested."""

    @property
    def mostly(self) -> str:
        """The type of most products; empty where nothing was counted."""
        return max(self.products, key=lambda name: self.products[name], default="")


class Library(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A shared library mapped into the worker that decides speed or numbers."""

    name: str
    path: str
    kind: str
    """oneDNN, MKL, OpenBLAS, OpenMP, TBB, CUDA, …"""


class Memory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Memory of a worker's process."""

    peak_rss_bytes: int | Absent
    rss_bytes: int | Absent
    source: str
    """Of the peak: `VmHWM`, or `rusage` where there is no `/proc`."""
    device_bytes: dict[str, int] = {}
    """Of the accelerator, by the framework's own allocator (`peak allocated`); empty where none was reported."""


class Evaluation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One evaluation of a training to a target."""

    step: int
    """Steps taken by then."""
    elapsed_ns: int
    """Of these steps alone: neither compilation, evaluations nor the making of batches."""
    loss: float
    """Mean of the steps since the evaluation before, each before its update."""
    accuracy: float
    """Share of the test images classified correctly."""


class MachineProbe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="machine-probe"):
    """How long fixed work took on all CPUs of the run at once, nanoseconds (`worker.machine_probe`)."""

    arithmetic_ns: int
    memory_ns: int
    pages_ns: int


class RooflineSamples(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How fast NumPy multiplied matrices and moved memory: lower bounds of what the machine can do."""

    threads: int
    gemm_size: int
    """Rows and columns of the square float32 matrices."""
    gemm_ns: Integers
    """Each sample is one product: 2 · size³ operations."""
    array_bytes: int
    copy_ns: Integers
    """Each sample moves two arrays."""
    add_ns: Integers
    """Each sample moves three arrays."""
    blas_threads: str
    """Threads of NumPy's matrix library, read back from it."""


class Work(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one call of a model computes and moves, in float32, counted from the model's definition (`zoo.flops`)."""

    model: str
    batch: int
    macs: int
    """Multiply-accumulates of matrix products and convolutions; a FLOP count is twice that."""
    weight_bytes: int
    """All weights that are needed, read once."""
    activation_bytes: int
    """What every layer reads and writes, element-wise work fused and nothing kept in a cache."""
    widest_bytes: int
    """Activations of the widest layer, in and out: what must fit into a cache beside the weights."""
    macs_by_kind: dict[str, int] = {}
    """By the kind of layer: `dense`, `convolution 3×3`, …; kinds without any are left out."""
    question: str = ""
    """Of the cases whose calls these are (`Case.question`), where they answer token by token; empty: a plain call."""
    operators: dict[str, int] = {}
    """How often a call for one input has an operator of this run, by its name; empty: no operators were measured."""
