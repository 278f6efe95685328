"""What is known of a backend without importing its framework. All of it is plain data."""

import msgspec

PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "int8", "int4")
"""Widest first."""


class Way(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a backend computes in a precision."""

    how: str
    """In words, for the report's settings and `levelfield list`."""
    file: str = "fp32"
    """For backends that read files: the precision of the file that they are given."""
    own: bool = False
    """Whether it is for files of a user's own alone."""


FP32 = Way("everything in fp32")


class FileFormat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of model file that backends read, and what writes it."""

    name: str
    """`onnx`, `tflite`."""
    title: str
    """As people write it: `ONNX`."""
    image: str
    """Whose worker writes the files."""
    module: str
    """Has `export(model, weights, batch, precision, folder)`, as `zoo.onnx_export` has it."""
    file: str
    """Name of the file; a file of weights beside it begins with the same name."""
    imports: tuple[str, ...] = ()
    """Modules that writing needs: what the `host` launcher looks for."""

    @property
    def folder(self) -> str:
        """Folder of the cache that holds such files; those of plug-ins begin alike."""
        return self.name if self == ONNX else f"plugin-{self.name}"


ONNX = FileFormat(
    name="onnx",
    title="ONNX",
    image="exporter",
    module="levelfield.zoo.onnx_export",
    file="model.onnx",
    imports=("torch", "onnx", "onnxscript"),
)


class BackendInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A backend: where it is, what it needs, what it computes in and how pages show it."""

    name: str
    title: str
    class_name: str
    """Of the class in its module."""
    image: str
    """Requirement set, and so image, that it runs in."""
    package: str = "levelfield.backends"
    """Import package that its module is in."""
    file: str = ""
    """Its module there; empty: `torch_compile` for `torch-compile`."""
    reads: str
    """`native` (a definition and weights), `onnx`, the name of its own `format`, or `canary`."""
    format: FileFormat | None = None
    """Of the files that it reads where they are no ONNX files."""
    distribution: str
    """The distribution whose version is the framework's."""
    imports: tuple[str, ...] = ()
    """Modules that it needs: what the `host` launcher looks for."""
    layout: str = "NCHW"
    """Order of images in memory that costs it no copy: `NHWC` or `NCHW` (see `zoo.inputs.make`)."""
    ways: dict[str, dict[str, Way]]
    """How it computes, by device and precision: it runs on these devices, and in these precisions."""
    why_not: dict[tuple[str, str], str] = {}
    """Why it does not compute on a device in a precision, where that is its own reason (see `precisions.why_not`)."""
    process_bytes: int = 1536 << 20
    """What a process holds of a GPU's memory before it has a model: CUDA's context (about 0.3 to 0.6 GB on data-centre
    GPUs), the code of its libraries, and room for the workspaces of cuDNN and cuBLAS. An allowance, no measurement."""
    by_default: bool = True
    """Whether a run on a CPU has it where no backends are named."""
    wraps: str = ""
    """The backend whose framework it computes by; empty: it computes by its own."""
    sized: bool = True
    """Whether its definitions are of networks of any size; else they take no weights of the user's own."""
    trains: bool = False
    """Whether it can train: frameworks can, runtimes that read a finished model cannot."""
    mixed: dict[str, dict[str, Way]] = {}
    """How it trains in precisions below fp32, by device and precision; in fp32 whatever trains does."""
    decodes: tuple[str, ...] = ()
    """Devices on which it can answer token by token, with a cache: where there is any, it has `load_decoding`."""
    why_static: str = ""
    """Why its cache has a fixed size only; empty: it also answers with one that grows."""
    feed: str = "prefetch"
    """How it reads a dataset: a function of `backends.feeds`."""
    says_by_operators: bool = False
    """Whether what it says that it computes in follows from the operators that a call dispatches, and so from the model
    and the precision, and not from kernels chosen by their speed: then one launch of a case is asked on a GPU too."""
    profiler: str = ""
    """What reads its framework's own profile: `MODULE.FUNCTION` of `backends.profiling`; empty: nothing does."""
    settings: dict[str, tuple[str, ...]] = {}
    """What may be chosen beside the idiomatic way, and the values it may have, the idiomatic one first."""
    instead_of_mkl: str = ""
    """Setting by which another library computes what MKL would: `key=value`; empty: there is none."""
    control_rank: int | None = None
    """Its place among those that serve as the A/A control where none is named, the quickest to launch first; None: it
    does so only where none of those is in the run."""
    colours: tuple[str, str] | None = None
    """On light and on dark ground, as `#rrggbb`; None: one of the spare colours."""

    @property
    def module(self) -> str:
        return f"{self.package}.{self.file or self.name.replace('-', '_')}"

    @property
    def file_format(self) -> FileFormat | None:
        """Kind of the files that it reads; None: it computes a definition of its own."""
        return ONNX if self.reads == ONNX.name else self.format

    @property
    def training_ways(self) -> dict[str, dict[str, Way]]:
        """How it trains, by device and precision; empty where it does not."""
        if not self.trains:
            return {}
        return {device: {"fp32": FP32, **self.mixed.get(device, {})} for device in self.ways}

    @property
    def no_growing_cache(self) -> str:
        """Why it does not answer with a cache that grows, in a sentence; empty: it does."""
        return f"{self.name} keeps no growing cache here: {self.why_static}." if self.why_static else ""

    @property
    def devices(self) -> tuple[str, ...]:
        """Where it runs."""
        return tuple(self.ways)
