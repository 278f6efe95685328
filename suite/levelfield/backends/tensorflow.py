"""TensorFlow, tf.function. The part on CUDA is unverified (see `backends.cuda`)."""

import importlib
import os
import re
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from levelfield.backends import cuda, decoding, hlo
from levelfield.backends.checks import (
    as_defined,
    images_first,
    images_last,
    import_framework,
    outputs,
    require_decoding,
    require_supported,
)
from levelfield.backends.decoding import Decoder, DecodingSource
from levelfield.backends.precisions import STORED, as_computed, precision_of
from levelfield.backends.protocol import Arrays, Options, Resident, Source, Step, Trainer, TrainingSource
from levelfield.record.measured import Computed
from levelfield.zoo import models
from levelfield.zoo.native import channels_last, definition

if TYPE_CHECKING:
    from levelfield.backends.tensorflow_training import Workers

_PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Conv2D", "Einsum")
_PLACED = re.compile(r".*(MatMul|Conv2D|Einsum).*")
"""The same once TensorFlow has rewritten and placed a graph (`_FusedMatMul`)."""

_UNKNOWN = "nothing: TensorFlow does not say which products oneDNN computes, and which Eigen"
_XLA_UNKNOWN = "nothing: XLA is not asked, since it would have to compile once more"


class TensorFlow:
    """A concrete tf.function with an input signature."""

    name = "tensorflow"
    mode = "tf.function, concrete"
    xla = False
    """Whether XLA compiles what is traced."""
    version: str

    def __init__(self, options: Options) -> None:
        require_supported(self.name, options)
        self._options = options
        self._device = options.device
        self._tf: Any = self._configured()
        self._function: Any = None
        self._call: Any = None
        """The concrete function, which is what is timed; None: no model is loaded."""
        self._names: tuple[str, ...] = ()
        """Names of its inputs, in order."""
        self._workers: Workers | None = None
        self.version = str(self._tf.__version__)

    def _configured(self) -> Any:  # noqa: ANN401 (a framework's module has no type here)
        """Import TensorFlow with its threads fixed and fp32 as fp32; on a GPU memory is taken as it is needed."""
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        # oneDNN may not compute fp32 in less: "Primitive attributes: fpmath mode" of its guide
        # (https://uxlfoundation.github.io/oneDNN).
        os.environ["ONEDNN_DEFAULT_FPMATH_MODE"] = "STRICT"
        tf: Any = import_framework(self.name, "tensorflow")
        tf.config.threading.set_intra_op_parallelism_threads(self._options.threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        tf.config.experimental.enable_tensor_float_32_execution(enabled=self._options.precision == "tf32")
        if self._device != cuda.DEVICE:
            tf.config.set_visible_devices([], "GPU")
            return tf
        gpus = tf.config.list_physical_devices("GPU")
        if not gpus:
            built_for = tf.sysconfig.get_build_info().get("cuda_version", "none")
            raise cuda.sees_none(self.name, f"TensorFlow {tf.__version__}, made for CUDA {built_for}")
        tf.config.experimental.set_memory_growth(gpus[0], enable=True)
        return tf

    def load(self, source: Source) -> Step:
        """Trace the model's own definition over the weights, and compile it by one throwaway call."""
        call, names, constant = self._trace(source), self._names, self._tf.constant

        def step(inputs: Arrays) -> npt.NDArray[np.float32]:
            # constant() copies the input; numpy() waits for the result and copies it.
            return call(*[constant(images_last(inputs[name])) for name in names]).numpy()  # type: ignore[no-any-return]

        if self._device == cuda.DEVICE:
            self._require_on_gpu(self._constants(source.example))
        step(source.example)
        shown = as_defined(models.get(source.model))
        return (lambda inputs: shown(step(inputs))) if shown is images_first else step

    def load_own(self, source: Source) -> Callable[[Arrays], Any]:
        """Trace a function of tensors, or a module or a model of Keras's, for the shapes of its inputs."""
        tf, self._names = self._tf, tuple(source.example)
        self._function = self._call = None  # frees the model that was loaded before
        signature = [tf.TensorSpec(array.shape, array.dtype) for array in source.example.values()]

        def network(*inputs: Any) -> Any:  # noqa: ANN401 (tensors; a model of Keras's is no function)
            return source.network(*inputs)

        function = tf.function(network, input_signature=signature, jit_compile=self.xla or None)
        call, names, constant = function.get_concrete_function(), self._names, tf.constant

        def step(inputs: Arrays) -> Any:  # noqa: ANN401 (whatever the network returns)
            return outputs(call(*[constant(inputs[name]) for name in names]), lambda tensor: tensor.numpy())

        step(source.example)
        return step

    def load_resident(self, source: Source) -> Resident:
        """Do as `load` does, for tensors that stay on the device.

        TensorFlow keeps int32 tensors in host memory even where they are used on a GPU: BERT's inputs may be copied
        there in every call.
        """
        call, tf, place_on = self._trace(source), self._tf, device_name(self._device)
        wait = waiting(tf, place_on)

        def place(inputs: Arrays) -> list[Any]:
            with tf.device(place_on):
                placed = [tf.identity(each) for each in self._constants(inputs)]
            wait()
            return placed

        def run(placed: list[Any]) -> Any:  # noqa: ANN401 (a tensor)
            output = call(*placed)
            wait()
            return output

        placed = place(source.example)
        if self._device == cuda.DEVICE:
            self._require_on_gpu(placed)
        run(placed)
        shown = as_defined(models.get(source.model))
        return Resident(place=place, run=run, fetch=lambda output: shown(output.numpy()))

    def load_decoding(self, source: DecodingSource) -> Decoder:
        """Trace the model's function of tokens, which writes into caches that are variables."""
        self._function = self._call = None  # frees the model that was loaded before
        model, _ = require_decoding(self.name, source, self._options)
        network = definition(model, "tensorflow")
        return decoding.with_tensorflow(self._tf, network, self._weights(source.weights), source, xla=self.xla)

    def load_training(self, source: TrainingSource) -> Trainer:
        """Trace forward, loss, backward and update as one function."""
        from levelfield.backends.tensorflow_training import TensorFlowTrainer, Workers

        self._function = self._call = None  # frees the model that was loaded before
        if source.replica is not None and self._workers is None:
            self._workers = Workers(self._tf, source.replica, self._device)
        return TensorFlowTrainer(self._tf, source, device_name(self._device), xla=self.xla, workers=self._workers)

    def _constants(self, inputs: Arrays) -> list[Any]:
        return [self._tf.constant(images_last(inputs[name])) for name in self._names]

    def _trace(self, source: Source) -> Any:  # noqa: ANN401 (a function of TensorFlow's)
        """Trace the model for the example's shapes, over its weights in the precision asked for.

        Frozen, weights are constants of the graph, which TensorFlow and XLA may fold and lay out anew; with
        `frozen=off` they are variables. In bf16 and fp16 weights are stored in that type and inputs are cast in the
        graph; normalisation stays in float32, as Keras's mixed precision has it
        (https://www.tensorflow.org/guide/mixed_precision).
        """
        self._function = self._call = None  # frees the model that was loaded before
        tf, network_of = self._tf, self._network(source)
        example = {name: images_last(source.example[name]) for name in self._names}
        signature = [tf.TensorSpec(array.shape, array.dtype, name=name) for name, array in example.items()]
        # reduce_retracing is moot with a signature; autograph has nothing to rewrite in straight code.
        self._function = tf.function(
            network_of, input_signature=signature, jit_compile=self.xla or None, autograph=False
        )
        self._call = self._function.get_concrete_function()
        return self._call

    def _network(self, source: Source) -> Callable[..., Any]:
        """Return the model's function of tensors over its weights, in the precision asked for."""
        tf, model = self._tf, models.get(source.model)
        network = definition(model, "tensorflow")
        dtype = tf.dtypes.as_dtype(STORED.get(self._options.precision, "float32"))
        weights = self._weights(source.weights, dtype.as_numpy_dtype)
        self._names = tuple(tensor.name for tensor in model.inputs)

        def network_of(*inputs: Any) -> Any:  # noqa: ANN401 (tensors)
            cast = [tf.cast(each, dtype) if each.dtype.is_floating else each for each in inputs]
            return tf.cast(network.forward(weights, *cast), tf.float32)

        return network_of

    def _weights(self, given: Arrays, dtype: npt.DTypeLike = np.float32) -> dict[str, Any]:
        """Return weights by name as a definition takes them, on the device."""
        with self._tf.device(device_name(self._device)):
            return {
                name: self._weight(name.replace(".", "_"), array.astype(dtype, copy=False))
                for name, array in channels_last(given).items()
            }

    @property
    def _frozen(self) -> bool:
        return self._options.settings.get("frozen", "on") == "on"

    def _weight(self, name: str, array: npt.NDArray[Any]) -> Any:  # noqa: ANN401 (a tensor)
        if self._frozen:
            return self._tf.constant(array, name=name)
        return self._tf.Variable(array, trainable=False, name=name)

    def _require_on_gpu(self, arguments: list[Any]) -> None:
        """Call once, and refuse what was computed elsewhere: TensorFlow moves operators to the CPU without a word."""
        output, elsewhere = placed_elsewhere(self._call, arguments, "GPU")
        if "GPU" not in str(output.device):
            raise cuda.fell_back(self.name, str(output.device).rpartition("/")[2] or "the CPU")
        if elsewhere:
            raise cuda.fell_back(self.name, f"the CPU in part ({', '.join(elsewhere)})")

    def computed(self, inputs: Arrays) -> Computed:
        """Count the products of the traced graph by type; in lower precisions, of what XLA makes of it once more."""
        if self._call is None:
            return Computed({}, "nothing is loaded")
        if self.xla and self._options.precision in STORED:
            return hlo.computed(self.compiled_text(inputs), self._options.precision)
        found = Counter(
            precision_of(operation.inputs[0].dtype.name)
            for operation in self._call.graph.get_operations()
            if operation.type in _PRODUCTS
        )
        products = as_computed(found, self._options.precision)
        kernels = _XLA_UNKNOWN if self.xla else _UNKNOWN
        return Computed(products, "TensorFlow's traced graph", kernels_source=kernels)

    def compiled_text(self, inputs: Arrays) -> str:
        """Return XLA's text of the compiled model, which takes another compilation; empty where XLA compiled none."""
        if not self.xla or self._call is None:
            return ""
        return str(self._function.experimental_get_compiler_ir(*self._constants(inputs))(stage="optimized_hlo"))

    def device_memory(self) -> dict[str, int]:
        """Return what TensorFlow's allocator counted: what it used, not what it holds."""
        if self._device == "cpu":
            return {}
        return {"peak allocated": int(self._tf.config.experimental.get_memory_info("GPU:0")["peak"])}

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        config = self._tf.config
        found = {
            "mode": self.mode,
            "XLA": "on" if self.xla else "off",
            "weights": "constants of the graph" if self._frozen else "variables",
            "threads": str(config.threading.get_intra_op_parallelism_threads()),
            "threads between operators": str(config.threading.get_inter_op_parallelism_threads()),
            "TF32": "on" if config.experimental.tensor_float_32_execution_enabled() else "off",
            "oneDNN fp32 mode": os.environ["ONEDNN_DEFAULT_FPMATH_MODE"],
            "oneDNN": "off" if os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "0" else "on (TensorFlow's default)",
            "denormals": "flushed to zero in TensorFlow's threads (its default)",
            "image layout": "channels last",
            "output": "a new array every call",
        }
        if self._device == "cpu":
            return found
        return found | {
            "device": self._device,
            "CUDA it was made for": str(self._tf.sysconfig.get_build_info().get("cuda_version", "not said")),
            "GPU memory": "as needed (memory growth)",
            "host memory": "pageable",
        }


def device_name(device: str) -> str:
    """Return TensorFlow's name of a device."""
    return "/GPU:0" if device == cuda.DEVICE else "/CPU:0"


def waiting(tf: Any, place_on: str) -> Callable[[], None]:  # noqa: ANN401 (a module)
    """Return a function that waits until a device has computed all that it was given.

    As `tf.test.experimental.sync_devices` does, which asks every device there is, the CPU too: tens of microseconds
    more in each timed call. (It also waits for eager operations that were put off, which is off by default.)
    """
    sync, device = tf.raw_ops.SyncDevice, tf.device

    def wait() -> None:
        with device(place_on):
            sync()

    return wait


def placed_elsewhere(call: Any, arguments: list[Any], kind: str) -> tuple[Any, tuple[str, ...]]:  # noqa: ANN401 (the same)
    """Call for the first time, and return the output with the kinds of products that a device of another kind computed.

    What TensorFlow did with a graph it tells in the metadata of its first call, as its own summaries show them
    (`tf.summary.trace_on`); of later calls it tells nothing. Small integer operators, which it keeps in host memory on
    purpose, are left out. A function that XLA compiles whole runs on one device, that of its output.
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


class TensorFlowXLA(TensorFlow):
    """A concrete tf.function with `jit_compile=True`."""

    name = "tensorflow-xla"
    mode = "tf.function, jit_compile"
    xla = True

    def __init__(self, options: Options) -> None:
        # Off by default; set explicitly so that the environment cannot turn it on.
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_enable_fast_math=false".strip()
        super().__init__(options)

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        fast_math = "off" if self._device == "cpu" else "as XLA chooses for GPUs"
        return super().settings() | {"XLA fast math": fast_math, "compile cache": "none"}
