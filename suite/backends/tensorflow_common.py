"""What TensorFlow with and without XLA have in common: set-up, the traced function and the timed calls.

The part on CUDA is written against the documentation and unverified (see `suite.backends.cuda`).
"""

import importlib
import os
import re
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from suite.backends import cuda, hlo
from suite.backends.checks import images_last, import_framework
from suite.backends.dtypes import STORED, precision_of
from suite.backends.protocol import Arrays, Options, Resident, Source, Step, TrainingSource
from suite.zoo import models
from suite.zoo.honesty import Computed
from suite.zoo.native import channels_last, definition

if TYPE_CHECKING:
    from suite.backends.parallel.tensorflow import Workers

_PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Conv2D", "Einsum")
_PLACED = re.compile(r".*(MatMul|Conv2D|Einsum).*")
"""The same once TensorFlow has rewritten and placed a graph (`_FusedMatMul`)."""


_NOT_TOLD = "nothing: TensorFlow does not say which products oneDNN computes, and which Eigen"
_XLA_NOT_ASKED = "nothing: XLA is not asked, since it would have to compile once more"


class Traced(msgspec.Struct, frozen=True):
    """A model's graph for fixed shapes."""

    function: Any
    call: Any
    """The concrete function, which is what is timed."""
    names: tuple[str, ...]
    """Of its inputs, in order."""


def configure(backend: str, options: Options) -> Any:  # noqa: ANN401 (a framework's module has no type here)
    """Import TensorFlow with its threads fixed, and let fp32 be fp32, or TF32 where that is asked for.

    On a GPU memory is taken as it is needed (https://www.tensorflow.org/guide/gpu#limiting_gpu_memory_growth): by
    default TensorFlow takes all there is at its start, and others are to live beside it.

    Parameters
    ----------
    backend
        Name of the backend, for messages.
    options
        Threads, precision and device.

    Raises
    ------
    Unsupported
        A GPU is asked for, and TensorFlow sees none.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    # oneDNN may not compute fp32 in less (https://uxlfoundation.github.io/oneDNN, "Primitive attributes: fpmath mode").
    os.environ["ONEDNN_DEFAULT_FPMATH_MODE"] = "STRICT"
    tf: Any = import_framework(backend, "tensorflow")
    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.experimental.enable_tensor_float_32_execution(enabled=options.precision == "tf32")
    if options.device != cuda.DEVICE:
        tf.config.set_visible_devices([], "GPU")
        return tf
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        made = tf.sysconfig.get_build_info().get("cuda_version", "none")
        raise cuda.sees_none(backend, f"TensorFlow {tf.__version__}, made for CUDA {made}")
    tf.config.experimental.set_memory_growth(gpus[0], enable=True)
    return tf


def make_step(tf: Any, traced: Traced, source: Source, *, backend: str, device: str) -> Step:  # noqa: ANN401 (the same)
    """Compile a traced model by one throwaway call, and return the timed call.

    Parameters
    ----------
    tf
        The module `tensorflow`.
    traced
        The model.
    source
        Its example is what the throwaway call is given.
    backend
        Name of the backend, for messages.
    device
        `cpu` or `cuda`.
    """
    call, names, constant = traced.call, traced.names, tf.constant

    def step(inputs: Arrays) -> npt.NDArray[np.float32]:
        # constant() copies the input; numpy() waits for the result and copies it.
        return call(*[constant(images_last(inputs[name])) for name in names]).numpy()  # type: ignore[no-any-return]

    if device == cuda.DEVICE:
        _require_on_gpu(traced, [constant(images_last(source.example[name])) for name in names], backend)
    step(source.example)
    return step


def make_resident(tf: Any, traced: Traced, source: Source, *, backend: str, device: str) -> Resident:  # noqa: ANN401 (the same)
    """Do as `make_step` does, for tensors that stay on the device.

    TensorFlow keeps int32 tensors in host memory even where they are used on a GPU: BERT's inputs may be copied there
    in every call.

    Parameters
    ----------
    tf, traced, source, backend, device
        As in `make_step`.
    """
    call, names = traced.call, traced.names
    place_on = device_name(device)
    wait = waiting(tf, place_on)

    def place(inputs: Arrays) -> list[Any]:
        with tf.device(place_on):
            placed = [tf.identity(tf.constant(images_last(inputs[name]))) for name in names]
        wait()
        return placed

    def run(placed: list[Any]) -> Any:  # noqa: ANN401 (a tensor)
        output = call(*placed)
        wait()
        return output

    placed = place(source.example)
    if device == cuda.DEVICE:
        _require_on_gpu(traced, placed, backend)
    run(placed)
    return Resident(place=place, run=run, fetch=lambda output: output.numpy())


def waiting(tf: Any, place_on: str) -> Callable[[], None]:  # noqa: ANN401 (the same)
    """Return what waits until a device has computed all that it was given.

    As `tf.test.experimental.sync_devices` does, which asks every device there is, the CPU too: tens of microseconds
    more in each timed call. (It also waits for eager operations that were put off, which is off by default.)

    Parameters
    ----------
    tf
        The module `tensorflow`.
    place_on
        TensorFlow's name of the device (`device_name`).
    """
    sync, device = tf.raw_ops.SyncDevice, tf.device

    def wait() -> None:
        with device(place_on):
            sync()

    return wait


def trace(tf: Any, source: Source, options: Options, *, xla: bool) -> Traced:  # noqa: ANN401 (the same)
    """Trace the model for the example's shapes, over its weights in the precision asked for.

    Frozen, weights are constants of the graph, which TensorFlow and XLA may fold and lay out anew; with `frozen=off`
    they are variables. In bf16 and fp16 weights are stored in that type and inputs are cast in the graph; normalisation
    stays in float32, as Keras's mixed precision has it (https://www.tensorflow.org/guide/mixed_precision).

    Parameters
    ----------
    tf
        The module `tensorflow`.
    source
        The model, its weights, and an example of its inputs.
    options
        Precision, device, and whether weights are frozen.
    xla
        Whether XLA compiles it.
    """
    model = models.get(source.model)
    network = definition(model, "tensorflow")
    dtype = tf.dtypes.as_dtype(STORED.get(options.precision, "float32"))
    with tf.device(device_name(options.device)):
        weights = {
            name: _weight(tf, name.replace(".", "_"), array.astype(dtype.as_numpy_dtype, copy=False), options)
            for name, array in channels_last(source.weights).items()
        }
    names = tuple(tensor.name for tensor in model.inputs)
    signature = [
        tf.TensorSpec(images_last(source.example[name]).shape, source.example[name].dtype, name=name) for name in names
    ]

    def network_of(*inputs: Any) -> Any:  # noqa: ANN401 (the same)
        cast = [tf.cast(each, dtype) if each.dtype.is_floating else each for each in inputs]
        return tf.cast(network.forward(weights, *cast), tf.float32)

    # reduce_retracing is moot with a signature; autograph has nothing to rewrite in straight code.
    function = tf.function(network_of, input_signature=signature, jit_compile=xla or None, autograph=False)
    return Traced(function, function.get_concrete_function(), names)


def _weight(tf: Any, name: str, array: npt.NDArray[Any], options: Options) -> Any:  # noqa: ANN401 (the same)
    if _frozen(options):
        return tf.constant(array, name=name)
    return tf.Variable(array, trainable=False, name=name)


def _frozen(options: Options) -> bool:
    return options.settings.get("frozen", "on") == "on"


def weights(options: Options) -> str:
    """Say what weights are in inference."""
    return "constants of the graph" if _frozen(options) else "variables"


def computed(tf: Any, traced: Traced, inputs: Arrays, options: Options, *, xla: bool) -> Computed:  # noqa: ANN401 (the same)
    """Count the products of the traced graph by their type; in lower precisions, of what XLA made of it.

    XLA compiles once more to tell, which takes seconds; of fp32 the graph's types and the size of the error say enough.

    Parameters
    ----------
    tf
        The module `tensorflow`.
    traced
        The model.
    inputs
        Of one call, in host memory.
    options
        With which the model was traced.
    xla
        Whether XLA compiled it.
    """
    kernels: dict[str, int] = {}
    if xla and options.precision in STORED:
        text = compiled_text(tf, traced, inputs)
        found, source = hlo.products(text), "XLA's text of the compiled module"
        kernels, by = hlo.kernels(text), f"{source}, which names no instruction set"
    else:
        by = _XLA_NOT_ASKED if xla else _NOT_TOLD
        counted = Counter(
            precision_of(operation.inputs[0].dtype.name)
            for operation in traced.call.graph.get_operations()
            if operation.type in _PRODUCTS
        )
        found, source = dict(counted), "TensorFlow's traced graph"
    if options.precision == "tf32" and "fp32" in found:
        found["tf32"] = found.pop("fp32")
    return Computed(found, source, kernels, by)


def compiled_text(tf: Any, traced: Traced, inputs: Arrays) -> str:  # noqa: ANN401 (the same)
    """Let XLA compile once more, and return its text.

    Parameters
    ----------
    tf
        The module `tensorflow`.
    traced
        The model.
    inputs
        Of one call, in host memory.
    """
    arguments = [tf.constant(images_last(inputs[name])) for name in traced.names]
    return str(traced.function.experimental_get_compiler_ir(*arguments)(stage="optimized_hlo"))


def workers(tf: Any, source: TrainingSource, device: str, living: "Workers | None") -> "Workers | None":  # noqa: ANN401 (the same)
    """Return the processes that train together; TensorFlow makes them once, before it computes anything.

    Parameters
    ----------
    tf
        The module `tensorflow`.
    source
        Its replica says which process this one is.
    device
        `cpu` or `cuda`.
    living
        Those that were made before; None: none were.
    """
    if source.replica is None or living is not None:
        return living
    from suite.backends.parallel.tensorflow import Workers

    return Workers(tf, source.replica, device)


def device_name(device: str) -> str:
    """Return TensorFlow's name of a device."""
    return "/GPU:0" if device == cuda.DEVICE else "/CPU:0"


def _require_on_gpu(traced: Traced, arguments: list[Any], backend: str) -> None:
    """Call once, and refuse what was computed elsewhere: TensorFlow moves operators to the CPU without a word."""
    output, elsewhere = placed_elsewhere(traced.call, arguments, "GPU")
    if "GPU" not in str(output.device):
        raise cuda.fell_back(backend, str(output.device).rpartition("/")[2] or "the CPU")
    if elsewhere:
        raise cuda.fell_back(backend, f"the CPU in part ({', '.join(elsewhere)})")


def placed_elsewhere(call: Any, arguments: list[Any], kind: str) -> tuple[Any, tuple[str, ...]]:  # noqa: ANN401 (the same)
    """Call for the first time, and return the output with the kinds of products that a device of another kind computed.

    What TensorFlow did with a graph it tells in the metadata of its first call, as its own summaries show them
    (`tf.summary.trace_on`); of later calls it tells nothing. Small integer operators, which it keeps in host memory on
    purpose, are left out. A function that XLA compiles whole runs on one device, that of its output.

    Parameters
    ----------
    call
        The concrete function.
    arguments
        Its inputs, on the device.
    kind
        Of the device that is to compute: `GPU` or `CPU`.
    """
    context: Any = importlib.import_module("tensorflow.python.eager.context").context()
    context.enable_graph_collection()
    try:
        output = call(*arguments)
        metadata = context.export_run_metadata()
    finally:
        context.disable_graph_collection()
    nodes = {
        (node.op, node.device.rpartition("/")[2])
        for graph in metadata.function_graphs
        for part in graph.partition_graphs
        for node in part.node
        if _PLACED.fullmatch(node.op)
    }
    return output, tuple(sorted({op for op, device in nodes if f":{kind}:" not in device}))


def device_memory(tf: Any, device: str) -> dict[str, int]:  # noqa: ANN401 (the same)
    """Return what TensorFlow's allocator counted: what it used, not what it holds.

    Parameters
    ----------
    tf
        The module `tensorflow`.
    device
        `cpu` or `cuda`.
    """
    return {"peak allocated": int(tf.config.experimental.get_memory_info("GPU:0")["peak"])} if device != "cpu" else {}


def settings(tf: Any, device: str = "cpu") -> dict[str, str]:  # noqa: ANN401 (the same)
    """Read back what can tilt the field.

    Parameters
    ----------
    tf
        The module `tensorflow`.
    device
        `cpu` or `cuda`.
    """
    found = {
        "threads": str(tf.config.threading.get_intra_op_parallelism_threads()),
        "threads between operators": str(tf.config.threading.get_inter_op_parallelism_threads()),
        "TF32": "on" if tf.config.experimental.tensor_float_32_execution_enabled() else "off",
        "oneDNN fp32 mode": os.environ["ONEDNN_DEFAULT_FPMATH_MODE"],
        "oneDNN": "off" if os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "0" else "on (TensorFlow's default)",
        "denormals": "flushed to zero in TensorFlow's threads (its default)",
        "image layout": "channels last",
        "output": "a new array every call",
    }
    if device == "cpu":
        return found
    build = tf.sysconfig.get_build_info()
    return found | {
        "device": device,
        "CUDA it was made for": str(build.get("cuda_version", "not said")),
        "GPU memory": "as needed (memory growth)",
        "host memory": "pageable",
    }
