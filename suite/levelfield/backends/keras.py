"""Keras 3, which computes by another framework: its engine."""

import os
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.backends import registry
from levelfield.backends.checks import images_last, import_framework, require_supported
from levelfield.backends.protocol import Arrays, Backend, Options, Source, Step, Trainer, TrainingSource, Unsupported
from levelfield.zoo import models
from levelfield.zoo.native import channels_last, definition


class Keras:
    """A model of Keras's own layers, used by `predict_on_batch` and `train_on_batch`, as its guides have it.

    The engine is set up as its own backend here sets it up (threads, fp32 as fp32); what Keras makes of it is left as
    Keras has it: whether it compiles, and that images are channels last.

    See https://keras.io/api/models/model_training_apis/ (`predict_on_batch`), https://keras.io/api/utils/config_utils/
    """

    name: str
    version: str

    def __init__(self, options: Options) -> None:
        require_supported(self.name, options)
        os.environ["KERAS_BACKEND"] = engine = registry.get(self.name).wraps
        self._engine: Backend = registry.create(engine, msgspec.structs.replace(options, settings={}))
        self._keras: Any = import_framework(self.name, "keras")
        self._network: Any = None
        self.version = str(self._keras.__version__)

    def load(self, source: Source) -> Step:
        """Build the model's own definition in Keras, and compile it by one throwaway call."""
        self._network = None  # frees the model that was loaded before
        model = models.get(source.model)
        try:
            written = definition(model, "keras")
        except ValueError as error:
            raise Unsupported(str(error)) from error
        self._network = network = written.build(channels_last(source.weights))
        names = tuple(tensor.name for tensor in model.inputs)
        predict = network.predict_on_batch
        if len(names) == 1:
            (name,) = names

            def step_one(inputs: Arrays) -> npt.NDArray[np.float32]:
                return predict(images_last(inputs[name]))  # type: ignore[no-any-return]

            step_one(source.example)
            return step_one

        def step(inputs: Arrays) -> npt.NDArray[np.float32]:
            return predict([images_last(inputs[name]) for name in names])  # type: ignore[no-any-return]

        step(source.example)
        return step

    def load_training(self, source: TrainingSource) -> Trainer:
        """Build the model's own definition in Keras with loss and optimizer; compile it by one throwaway step."""
        from levelfield.backends.keras_training import KerasTrainer

        self._network = None  # frees the model that was loaded before
        if source.replica is not None:
            raise Unsupported(f"{self.name} trains in one process here: ask for --processes 1.")
        trainer = KerasTrainer(self._keras, source)
        self._network = trainer.network
        return trainer

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field: Keras's own, and the engine's."""
        config = self._keras.config
        engine = self._engine.settings()
        for taken in ("mode", "output", "weights", "gradients", "XLA"):
            engine.pop(taken, None)
        return engine | {
            "mode": "predict_on_batch",
            "engine": f"{config.backend()} {self._engine.version}",  # what `analysis.insights.wrappers` reads
            "compiled by the engine": str(getattr(self._network, "jit_compile", "no model yet")),
            "image layout": config.image_data_format().replace("_", " "),
            "floating-point type": config.floatx(),
            "output": "a new array every call",
        }


class KerasJAX(Keras):
    """Keras with JAX as its engine."""

    name = "keras-jax"


class KerasTensorFlow(Keras):
    """Keras with TensorFlow as its engine."""

    name = "keras-tensorflow"


class KerasTorch(Keras):
    """Keras with PyTorch as its engine."""

    name = "keras-torch"
