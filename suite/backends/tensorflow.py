"""TensorFlow, tf.function."""

from typing import TYPE_CHECKING, Any

from suite.backends import tensorflow_common
from suite.backends.checks import require_supported
from suite.backends.protocol import Arrays, Options, Resident, Source, Step, Trainer, TrainingSource
from suite.backends.tensorflow_common import Traced
from suite.zoo.honesty import Computed

if TYPE_CHECKING:
    from suite.backends.parallel.tensorflow import Workers


class TensorFlow:
    """A concrete tf.function with an input signature; on CUDA unverified (see `suite.backends.cuda`)."""

    name = "tensorflow"
    xla = False
    """Whether XLA compiles what is traced."""
    version: str

    def __init__(self, options: Options) -> None:
        require_supported(self.name, options)
        self._options = options
        self._device = options.device
        self._tf: Any = tensorflow_common.configure(self.name, options)
        self._traced: Traced | None = None
        self._workers: Workers | None = None
        self.version = str(self._tf.__version__)

    def load(self, source: Source) -> Step:
        """Trace the model's own definition over the weights."""
        return tensorflow_common.make_step(
            self._tf, self._trace(source), source, backend=self.name, device=self._device
        )

    def load_resident(self, source: Source) -> Resident:
        """Do as `load` does, for tensors that stay on the device."""
        return tensorflow_common.make_resident(
            self._tf, self._trace(source), source, backend=self.name, device=self._device
        )

    def _trace(self, source: Source) -> Traced:
        self._traced = None  # the model before this one goes first
        self._traced = tensorflow_common.trace(self._tf, source, self._options, xla=self.xla)
        return self._traced

    def computed(self, inputs: Arrays) -> Computed:
        if self._traced is None:
            return Computed({}, "nothing is loaded")
        return tensorflow_common.computed(self._tf, self._traced, inputs, self._options, xla=self.xla)

    def load_training(self, source: TrainingSource) -> Trainer:
        """Trace forward, loss, backward and update as one function."""
        from suite.backends.tensorflow_training import TensorFlowTrainer

        self._workers = tensorflow_common.workers(self._tf, source, self._device, self._workers)
        place = tensorflow_common.device_name(self._device)
        return TensorFlowTrainer(self._tf, source, place, xla=self.xla, workers=self._workers)

    def device_memory(self) -> dict[str, int]:
        return tensorflow_common.device_memory(self._tf, self._device)

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        return {
            "mode": "tf.function, concrete",
            "XLA": "off",
            "weights": tensorflow_common.weights(self._options),
            **tensorflow_common.settings(self._tf, self._device),
        }
