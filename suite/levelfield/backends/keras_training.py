"""Training in Keras 3: `compile` and `train_on_batch`, with Keras's own optimizers corrected to the recipe.

Two conventions of Keras's cannot be set by an argument, so its classes are derived from, which its guides allow:

AdamW
    Its epsilon stands beside the uncorrected root: the recipe's, times √(1 − β₂ᵗ), is given to it at step t. And Keras
    takes 1 − βᵗ in float32, which is off by 1e-5 in the first steps: a schedule multiplies the learning rate by what is
    lost.
SGD
    Its weight decay is decoupled: the recipe's is added to the gradients before Keras's own update.

See https://keras.io/api/models/model_training_apis/ (`train_on_batch`) and https://keras.io/api/optimizers/
"""

import math
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.backends.checks import images_last
from levelfield.backends.protocol import Arrays, TrainingSource, Unsupported
from levelfield.zoo import models
from levelfield.zoo.native import channels_first, channels_last, definition, keras_array, keras_variables
from levelfield.zoo.training.recipe import SGD, AdamW, Optimizer
from levelfield.zoo.training.update import Amplification, amplified


class KerasTrainer:
    """A compiled model of Keras's, and the variables that it begins with."""

    def __init__(self, keras: Any, source: TrainingSource) -> None:  # noqa: ANN401 (a module)
        model = models.get(source.model)
        try:
            written = definition(model, "keras")
        except ValueError as error:
            raise Unsupported(str(error)) from error
        self._keras, self._rule, self._begin = keras, source.optimizer, source.weights
        self._prepared = channels_last(source.weights)
        self.network, self._answers, self._loss = written.trainable(self._prepared)
        self._variables = keras_variables(self.network)
        self._fixed = {
            variable.path for name, variable in self._variables.items()
            if not any(each.name == name and each.decays for each in model.trained)
        }  # fmt: skip
        self._inputs = tuple(tensor.name for tensor in model.inputs)
        self._given = tuple(tensor.name for tensor in self.network.inputs)
        self._optimizer = _optimizer(keras, source.optimizer, self._variables, self._fixed)
        self.network.compile(optimizer=self._optimizer, loss=self._loss)
        self._optimizer.build(self.network.trainable_variables)
        self._state = [np.array(keras.ops.convert_to_numpy(each)) for each in self._optimizer.variables]
        self.step(source.example)
        self.restart()

    def step(self, batch: Arrays) -> float:
        given = [images_last(batch[name]) for name in self._given]
        return float(self.network.train_on_batch(given[0] if len(given) == 1 else given, batch["labels"]))

    def step_with_gradients(self, gradients: Iterable[Arrays], by: Amplification) -> None:
        """Take the same steps of another model over the same variables, whose output is its loss."""
        rule = amplified(self._rule, by)
        linear = _linear(self._keras, self.network.trainable_variables)
        optimizer = _optimizer(self._keras, rule, self._variables, self._fixed)
        linear.compile(optimizer=optimizer, loss=lambda _, output: self._keras.ops.sum(output))
        for given in map(channels_last, gradients):
            # A batch of one item, as every input of Keras's has its items along the first axis.
            arrays = [
                given[each.tensor].reshape((1, *each.shape)) for each in self.network.trainable_variables
            ]  # fmt: skip
            linear.train_on_batch(arrays, np.zeros((1, 1), dtype=np.float32))

    def gradients(self) -> Arrays:
        """Return them from the first moments, which after one step hold them and nothing else."""
        rule, found = self._rule, {}
        moments = [each for each in self._optimizer.variables if each.name.endswith("momentum")]
        for variable, moment in zip(self.network.trainable_variables, moments, strict=True):
            begin = self._prepared[variable.tensor]
            first = keras_array(moment, begin.shape)
            if isinstance(rule, AdamW):
                found[variable.tensor] = first / np.float32(1 - rule.beta1)
            else:
                decay = np.float32(0.0 if variable.path in self._fixed else rule.weight_decay)
                found[variable.tensor] = first / np.float32(-rule.learning_rate) - decay * begin
        return channels_first(found)

    def weights(self) -> Arrays:
        return channels_first(
            {name: keras_array(each, self._prepared[name].shape) for name, each in self._variables.items()}
        )

    def predict(self, inputs: Arrays) -> npt.NDArray[np.float32]:
        given = [images_last(inputs[name]) for name in self._inputs]
        return np.asarray(self._answers.predict_on_batch(given[0] if len(given) == 1 else given))

    def restart(self, weights: Arrays | None = None) -> None:
        if weights is not None:
            self._begin, self._prepared = weights, channels_last(weights)
        for name, variable in self._variables.items():
            variable.assign(self._prepared[name].reshape(variable.shape))
        for variable, array in zip(self._optimizer.variables, self._state, strict=True):
            variable.assign(array)

    def settings(self) -> dict[str, str]:
        name = type(self._rule).__name__
        corrected = "epsilon beside the corrected root" if isinstance(self._rule, AdamW) else "coupled weight decay"
        return {
            "mode": "train_on_batch",
            "optimizer": f"keras.optimizers.{name}, {corrected}: {', '.join(msgspec.structs.asdict(self._rule))}",
            "output": "the loss, a Python float",
        } | (
            {"BatchNorm": "keras.layers.BatchNormalization, moving variance unbiased"}
            if self.network.non_trainable_variables
            else {}
        )


def _linear(keras: Any, variables: list[Any]) -> Any:  # noqa: ANN401 (Keras has no types here)
    """Return a model of Σ⟨given, variable⟩, whose gradients are what is given."""

    class Linear(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.held = variables

        def call(self, given: Any) -> Any:  # noqa: ANN401
            sums = [keras.ops.sum(each * variable) for each, variable in zip(given, self.held, strict=True)]
            return keras.ops.reshape(sum(sums), (1, 1))

    return Linear()


def _optimizer(keras: Any, rule: Optimizer, variables: dict[str, Any], fixed: set[str]) -> Any:  # noqa: ANN401
    """Return Keras's optimizer with every hyper-parameter given, corrected to the recipe."""
    if isinstance(rule, SGD):
        return _sgd(keras, rule, fixed)
    optimizer = _adamw(keras, rule)
    optimizer.exclude_from_weight_decay(var_list=[each for each in variables.values() if each.path in fixed])
    return optimizer


def _sgd(keras: Any, rule: SGD, fixed: set[str]) -> Any:  # noqa: ANN401 (the same)
    # The class of an instance: for torch Keras makes one of its own, which updates all tensors at once.
    class CoupledSGD(type(keras.optimizers.SGD())):  # type: ignore[misc]
        def apply(self, grads: Any, trainable_variables: Any = None) -> Any:  # noqa: ANN401
            owned = list(trainable_variables if trainable_variables is not None else self._trainable_variables)
            coupled = [
                each if variable.path in fixed else each + rule.weight_decay * keras.ops.convert_to_tensor(variable)
                for each, variable in zip(grads, owned, strict=True)
            ]
            return super().apply(coupled, owned)

    return CoupledSGD(learning_rate=rule.learning_rate, momentum=rule.momentum, nesterov=False)


def _adamw(keras: Any, rule: AdamW) -> Any:  # noqa: ANN401 (the same)
    ops = keras.ops

    def share(beta: float, step: Any) -> Any:  # noqa: ANN401
        """Return 1 − βᵗ, which loses no digits so."""
        return -ops.expm1(step * math.log(beta))

    class Exact(keras.optimizers.schedules.LearningRateSchedule):  # type: ignore[misc]
        def __call__(self, step: Any) -> Any:  # noqa: ANN401
            count = ops.cast(step + 1, "float32")
            lost = [
                share(beta, count) / (1 - ops.power(ops.cast(beta, "float32"), count))
                for beta in (rule.beta1, rule.beta2)
            ]
            return rule.learning_rate * ops.sqrt(lost[1]) / lost[0]

        def get_config(self) -> dict[str, Any]:
            return {}

    class CorrectedAdamW(type(keras.optimizers.AdamW())):  # type: ignore[misc]
        @property
        def epsilon(self) -> Any:  # noqa: ANN401
            return rule.epsilon * ops.sqrt(share(rule.beta2, ops.cast(self.iterations + 1, "float32")))

        @epsilon.setter
        def epsilon(self, value: float) -> None:
            del value  # the recipe's, which Keras sets once

    return CorrectedAdamW(
        learning_rate=Exact(),
        weight_decay=rule.weight_decay,
        beta_1=rule.beta1,
        beta_2=rule.beta2,
        epsilon=rule.epsilon,
        amsgrad=False,
    )
