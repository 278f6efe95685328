"""Training in TensorFlow: one tf.function with forward, loss, backward and update, compiled by XLA or not.

The optimizers are TensorFlow's own fused kernels, one a tensor, and not Keras's classes: its AdamW puts epsilon beside
the uncorrected root and so drifts away from every other framework's.

See https://www.tensorflow.org/guide/function and https://www.tensorflow.org/guide/core/optimizers_core
"""

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from levelfield.backends import hlo
from levelfield.backends.checks import images_last
from levelfield.backends.parallel import Replica
from levelfield.backends.precisions import LOSS_SCALES, STORED, as_computed, precision_of
from levelfield.backends.protocol import Arrays, TrainingSource
from levelfield.record.measured import Computed
from levelfield.zoo import models
from levelfield.zoo.native import channels_first, channels_last, definition
from levelfield.zoo.training import batches
from levelfield.zoo.training.recipe import SGD, AdamW, Optimizer
from levelfield.zoo.training.update import Amplification, amplified

PRODUCTS = frozenset(
    {
        *("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum"),
        *("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"),
    }
)
"""Operators that multiply matrices or convolve, forward and back."""

Loss: TypeAlias = Callable[..., tuple[Any, dict[str, Any]]]
"""From weights, statistics and a batch to the loss and the next statistics."""


class Workers:
    """MultiWorkerMirroredStrategy over its own ring (NCCL on GPUs, unverified).

    It must be made before TensorFlow computes anything, and is kept as long as the process runs.

    See https://www.tensorflow.org/tutorials/distribute/multi_worker_with_ctl
    """

    def __init__(self, tf: Any, replica: Replica, device: str) -> None:  # noqa: ANN401 (a module)
        self._tf = tf
        ways = tf.distribute.experimental.CommunicationImplementation
        self._way = ways.RING if device == "cpu" else ways.NCCL
        self.strategy = tf.distribute.MultiWorkerMirroredStrategy(
            # In place of the variable TF_CONFIG: its ports would differ in every launch's record.
            cluster_resolver=tf.distribute.cluster_resolver.SimpleClusterResolver(
                tf.train.ClusterSpec({"worker": list(replica.authorities)}),
                task_type="worker",
                task_id=replica.rank,
                num_accelerators={"GPU": 1} if device != "cpu" else None,
                rpc_layer="grpc",
            ),
            communication_options=tf.distribute.experimental.CommunicationOptions(implementation=self._way),
        )

    def own(self, variable: Any) -> Any:  # noqa: ANN401 (a variable)
        """Return this process's part of a mirrored variable."""
        (part,) = self.strategy.experimental_local_results(variable)
        return part

    def mean(self, tensors: list[Any]) -> list[Any]:
        """Average tensors over all processes; called inside of `strategy.run`."""
        distribute = self._tf.distribute
        return distribute.get_replica_context().all_reduce(distribute.ReduceOp.MEAN, tensors)  # type: ignore[no-any-return]

    def settings(self) -> dict[str, str]:
        """Read back which engine it is."""
        return {
            "engine": f"MultiWorkerMirroredStrategy over {self._way.name}",
            "processes": str(self.strategy.num_replicas_in_sync),
        }


class TensorFlowTrainer:
    """Weights, moments and a step count in variables, and the function that moves them."""

    def __init__(
        self,
        tf: Any,  # noqa: ANN401 (a module)
        source: TrainingSource,
        place: str,
        *,
        xla: bool,
        workers: Workers | None = None,
    ) -> None:
        model = models.get(source.model)
        self._tf, self._network = tf, definition(model, "tensorflow")
        self._begin = source.weights
        self._names = batches.names(model)
        self._inputs = tuple(tensor.name for tensor in model.inputs)
        self._rule = source.optimizer
        statistics = {each.name for each in model.statistics}
        self._decays = {each.name for each in model.trained if each.decays}
        prepared = channels_last(source.weights)
        self._workers = workers
        with tf.device(place) if workers is None else workers.strategy.scope():
            made = {
                name: tf.Variable(array, trainable=name not in statistics, name=name.replace(".", "_"))
                for name, array in prepared.items()
            }
        with tf.device(place):
            if workers is not None:
                made = {name: workers.own(variable) for name, variable in made.items()}
            self._weights = {name: variable for name, variable in made.items() if name not in statistics}
            self._statistics = {name: variable for name, variable in made.items() if name in statistics}
            self._first = {name: tf.Variable(tf.zeros_like(each)) for name, each in self._weights.items()}
            self._second = (
                {name: tf.Variable(tf.zeros_like(each)) for name, each in self._weights.items()}
                if isinstance(source.optimizer, AdamW)
                else {}
            )
            self._count = tf.Variable(0.0)
        self._xla = xla
        self._precision = source.precision
        self._scale = LOSS_SCALES.get(source.precision, 1.0)
        self._call = self._compiled(self._in_precision(self._network.loss), Amplification())
        self._forward = tf.function(self._predict, jit_compile=xla or None, autograph=False)
        self.step(source.example)
        self.restart()

    def _compiled(self, loss: Loss, by: Amplification) -> Callable[..., Any]:
        """Return the step for a loss and the recipe's optimizer, traced, and compiled by XLA or not."""
        tf, workers, rule = self._tf, self._workers, amplified(self._rule, by)
        # No signature: another batch size is traced, and compiled, on its own.
        compiled = functools.partial(tf.function, jit_compile=self._xla or None, autograph=False)
        slopes_of, move = functools.partial(self._slopes, loss), functools.partial(self._move, rule)
        if workers is None:
            return compiled(functools.partial(self._train, slopes_of, move))  # type: ignore[no-any-return]
        # XLA compiles what lies before and behind the means of the gradients, which are TensorFlow's own to send.
        train = functools.partial(self._train_together, workers, compiled(slopes_of), compiled(move))
        return tf.function(lambda *batch: workers.strategy.run(train, args=batch), autograph=False)  # type: ignore[no-any-return]

    def _in_precision(self, loss: Loss) -> Loss:
        """Return the loss of weights and inputs that are cast to the precision; its gradients are in float32 again.

        As Keras's mixed precision has it: variables stay in float32, and are cast in every step; the cast's own
        gradient casts back (https://www.tensorflow.org/guide/mixed_precision). Running statistics are not cast.
        """
        if self._precision not in STORED:
            return loss
        tf, dtype = self._tf, STORED[self._precision]

        def cast(tensor: Any) -> Any:  # noqa: ANN401 (a tensor)
            return tf.cast(tensor, dtype) if tensor.dtype.is_floating else tensor

        labels = [name not in self._inputs for name in self._names]

        def lowered(
            weights: dict[str, Any],
            statistics: dict[str, Any],
            *batch: Any,  # noqa: ANN401 (tensors)
        ) -> tuple[Any, dict[str, Any]]:
            given = [each if label else cast(each) for each, label in zip(batch, labels, strict=True)]
            return loss({name: cast(each) for name, each in weights.items()}, statistics, *given)

        return lowered

    def step(self, batch: Arrays) -> float:
        constant = self._tf.constant
        return float(self._call(*[constant(images_last(batch[name])) for name in self._names]).numpy())

    def step_with_gradients(self, gradients: Iterable[Arrays], by: Amplification) -> None:
        call = self._compiled(self._linear_loss, by)
        for given in map(channels_last, gradients):
            # Each array is let go as it is copied: all of them are as large as the model.
            call(*[self._tf.constant(given.pop(name)) for name in self._weights]).numpy()

    def _linear_loss(
        self,
        weights: dict[str, Any],
        statistics: dict[str, Any],
        *given: Any,  # noqa: ANN401 (tensors)
    ) -> tuple[Any, dict[str, Any]]:
        """Return Σ⟨given, weight⟩, whose gradients are what is given."""
        del statistics
        sums = [self._tf.reduce_sum(weight * each) for weight, each in zip(weights.values(), given, strict=True)]
        return self._tf.add_n(sums), {}

    @staticmethod
    def _train(slopes_of: Any, move: Any, *batch: Any) -> Any:  # noqa: ANN401 (functions, tensors)
        loss, slopes, statistics = slopes_of(*batch)
        move(slopes, statistics)
        return loss

    @staticmethod
    def _train_together(workers: Workers, slopes_of: Any, move: Any, *batch: Any) -> Any:  # noqa: ANN401 (the same)
        loss, slopes, statistics = slopes_of(*batch)
        move(workers.mean(slopes), statistics)
        return loss

    def _slopes(self, loss_of: Loss, *batch: Any) -> tuple[Any, list[Any], dict[str, Any]]:  # noqa: ANN401 (the same)
        tf = self._tf
        with tf.GradientTape() as tape:
            loss, statistics = loss_of(self._weights, self._statistics, *batch)
            target = loss * self._scale if self._scale != 1 else loss
        slopes = tape.gradient(target, list(self._weights.values()))
        # A gradient by rows that were looked up becomes a whole one: decay and moments concern every row.
        slopes = [tf.convert_to_tensor(slope) for slope in slopes]
        return loss, [slope / self._scale for slope in slopes] if self._scale != 1 else slopes, statistics

    def _move(self, rule: Optimizer, slopes: list[Any], statistics: dict[str, Any]) -> None:
        self._count.assign_add(1.0)
        for name, slope in zip(self._weights, slopes, strict=True):
            self._update(rule, name, slope)
        for name, value in statistics.items():
            self._statistics[name].assign(value)

    def _update(self, rule: Optimizer, name: str, slope: Any) -> None:  # noqa: ANN401 (a tensor)
        raw, weight, first = self._tf.raw_ops, self._weights[name], self._first[name]
        if isinstance(rule, SGD):
            if name in self._decays:
                slope += rule.weight_decay * weight
            raw.ResourceApplyMomentum(
                var=weight.handle,
                accum=first.handle,
                lr=rule.learning_rate,
                grad=slope,
                momentum=rule.momentum,
                use_nesterov=False,
            )
            return
        if name in self._decays:
            weight.assign_sub(rule.learning_rate * rule.weight_decay * weight)
        first_share, second_share = self._corrections(rule)
        root = self._tf.sqrt(second_share)
        # The kernel computes w − lr·m / (√v + ε), so both corrections are put into lr and ε. Its own would go by
        # powers of beta in float32 and leave ε beside the uncorrected root.
        raw.ResourceApplyAdam(
            var=weight.handle,
            m=first.handle,
            v=self._second[name].handle,
            beta1_power=0.0,
            beta2_power=0.0,
            lr=rule.learning_rate * root / first_share,
            beta1=rule.beta1,
            beta2=rule.beta2,
            epsilon=rule.epsilon * root,
            grad=slope,
            use_nesterov=False,
        )

    def _corrections(self, rule: AdamW) -> tuple[Any, Any]:
        """Return 1 − β₁ᵗ and 1 − β₂ᵗ.

        The kernel takes the betas in float32, where 1 − 0.999 is off by 1.3e-5; with the same rounded betas here that
        cancels. And 1 − βᵗ is −(e^(t·log β) − 1), which loses no digits where βᵗ is nearly one.
        """
        expm1, count = self._tf.math.expm1, self._count
        first, second = (-expm1(count * math.log(float(np.float32(beta)))) for beta in (rule.beta1, rule.beta2))
        return first, second

    def computed(self, batch: Arrays) -> Computed:
        """Count the products of the traced step by their type, or of what XLA made of it, which compiles once more."""
        given = [self._tf.constant(images_last(batch[name])) for name in self._names]
        if self._workers is not None:
            return Computed({}, "nothing: the steps of several processes are not looked into")
        if self._xla:
            text = str(self._call.experimental_get_compiler_ir(*given)(stage="optimized_hlo"))  # type: ignore[attr-defined]
            return hlo.computed(text, self._precision)
        operations = self._call.get_concrete_function(*given).graph.get_operations()  # type: ignore[attr-defined]
        found = Counter(
            precision_of(operation.inputs[-1].dtype.name) for operation in operations if operation.type in PRODUCTS
        )
        return Computed(as_computed(found, self._precision), "TensorFlow's traced graph")

    def gradients(self) -> Arrays:
        """Return them from the first moments, which after one step hold them and nothing else."""
        rule = self._rule
        if isinstance(rule, SGD):
            begin = channels_last(self._begin)
            decay = {name: np.float32(rule.weight_decay if name in self._decays else 0) for name in self._first}
            return channels_first(
                {name: each.numpy() - decay[name] * begin[name] for name, each in self._first.items()}
            )
        share = np.float32(1) - np.float32(rule.beta1)
        return channels_first({name: each.numpy() / share for name, each in self._first.items()})

    def weights(self) -> Arrays:
        return channels_first({name: each.numpy() for name, each in (self._weights | self._statistics).items()})

    def predict(self, inputs: Arrays) -> npt.NDArray[np.float32]:
        given = [self._tf.constant(images_last(inputs[name])) for name in self._inputs]
        return self._forward(*given).numpy()  # type: ignore[no-any-return]

    def _predict(self, *inputs: Any) -> Any:  # noqa: ANN401 (tensors)
        return self._network.forward(self._weights | self._statistics, *inputs)

    def restart(self, weights: Arrays | None = None) -> None:
        self._begin = self._begin if weights is None else weights
        prepared = channels_last(self._begin)
        for name, variable in (self._weights | self._statistics).items():
            variable.assign(prepared[name])
        for moment in (*self._first.values(), *self._second.values(), self._count):
            moment.assign(self._tf.zeros_like(moment))

    def settings(self) -> dict[str, str]:
        kernel = "ResourceApplyMomentum" if isinstance(self._rule, SGD) else "ResourceApplyAdam, decay before it"
        return (
            {
                "gradients": "GradientTape inside the function",
                "optimizer": f"TensorFlow's kernel {kernel}",
                "output": "the loss, a Python float",
            }
            | ({"loss scale": f"{self._scale:g}"} if self._scale != 1 else {})
            | (self._workers.settings() if self._workers is not None else {})
        )
