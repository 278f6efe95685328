"""Training in JAX: one jitted function with value_and_grad and the update, its state donated.

The optimizer is written out, as the recipe has it: optax is a package of its own, and its defaults differ.

See https://docs.jax.dev/en/latest/_autosummary/jax.value_and_grad.html
https://docs.jax.dev/en/latest/buffer_donation.html
"""

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.backends import hlo
from levelfield.backends.checks import images_last
from levelfield.backends.parallel import Replica
from levelfield.backends.precisions import LOSS_SCALES, STORED
from levelfield.backends.protocol import Arrays, TrainingSource
from levelfield.record.measured import Computed
from levelfield.zoo import models
from levelfield.zoo.native import channels_first, channels_last, definition
from levelfield.zoo.training import batches
from levelfield.zoo.training.recipe import SGD, AdamW, Optimizer
from levelfield.zoo.training.update import Amplification, amplified

Tensors: TypeAlias = dict[str, Any]
State: TypeAlias = dict[str, Any]
"""`weights`, `statistics`, `first` and `second` moments, and the `count` of steps."""
Loss: TypeAlias = Callable[..., tuple[Any, Tensors]]
"""From weights, statistics and a batch to the loss and the next statistics."""
AXIS = "replicas"


class JAXTrainer:
    """The state, and the compiled function from one state and a batch to the next state and the loss."""

    def __init__(self, jax: Any, source: TrainingSource, options: dict[str, Any]) -> None:  # noqa: ANN401 (a module)
        model = models.get(source.model)
        self._jax, self._network = jax, definition(model, "jax")
        self._begin = source.weights
        self._names = batches.names(model)
        self._inputs = tuple(tensor.name for tensor in model.inputs)
        self._rule = source.optimizer
        self._statistics = {each.name for each in model.statistics}
        self._decays = {each.name for each in model.trained if each.decays}
        self._mesh = Mesh(jax, source.replica) if source.replica is not None else None
        self._options = options or None
        self._precision = source.precision
        self._scale = LOSS_SCALES.get(source.precision, 1.0)
        self._call = self._compiled(self._in_precision(self._network.loss), Amplification())
        self._forward = jax.jit(self._network.forward, compiler_options=self._options)
        self._state: State = {}
        self.restart()
        self.step(source.example)
        self.restart()

    def _compiled(self, loss: Loss, by: Amplification) -> Callable[..., tuple[State, Any]]:
        """Return the compiled step for a loss and the recipe's optimizer."""
        # The state's memory is given to the next state's; another batch size is compiled on its own.
        lie = {"out_shardings": self._mesh.replicated} if self._mesh is not None else {}
        train = functools.partial(self._train, loss, amplified(self._rule, by))
        return self._jax.jit(train, donate_argnums=0, compiler_options=self._options, **lie)  # type: ignore[no-any-return]

    def _in_precision(self, loss: Loss) -> Loss:
        """Return the loss of weights and inputs that are cast to the precision; its gradients are in float32 again.

        Weights stay in float32, and are cast in every step: the cast's own gradient casts back. Running statistics are
        not multiplied, and not cast.
        """
        if self._precision not in STORED:
            return loss
        numpy, dtype = self._jax.numpy, self._jax.numpy.dtype(STORED[self._precision])

        def cast(array: Any) -> Any:  # noqa: ANN401 (an array)
            return array.astype(dtype) if numpy.issubdtype(array.dtype, numpy.floating) else array

        labels = [name not in self._inputs for name in self._names]

        def lowered(weights: Tensors, statistics: Tensors, *batch: Any) -> tuple[Any, Tensors]:  # noqa: ANN401 (the same)
            given = [each if label else cast(each) for each, label in zip(batch, labels, strict=True)]
            return loss({name: cast(each) for name, each in weights.items()}, statistics, *given)

        return lowered

    def _scaled(self, loss: Loss) -> Loss:
        """Return the loss times its scale, which is 1 but in fp16."""

        def scaled(weights: Tensors, statistics: Tensors, *batch: Any) -> tuple[Any, Tensors]:  # noqa: ANN401 (arrays)
            found, new = loss(weights, statistics, *batch)
            return found * self._scale, new

        return scaled

    def step(self, batch: Arrays) -> float:
        return self._step(self._call, [images_last(batch[name]) for name in self._names])

    def _step(self, call: Callable[..., tuple[State, Any]], arrays: list[npt.NDArray[Any]]) -> float:
        if self._mesh is not None:
            arrays = [self._mesh.shard(array) for array in arrays]
        self._state, loss = call(self._state, *arrays)
        # All outputs of a compiled function are ready together: with the loss, the next state is.
        return float(loss)

    def step_with_gradients(self, gradients: Iterable[Arrays], by: Amplification) -> None:
        names = tuple(self._state["weights"])
        call = self._compiled(functools.partial(_linear_loss, names), by)
        for given in map(channels_last, gradients):
            # One item for each process, as a batch has its items for each.
            self._step(call, [given.pop(name)[np.newaxis] for name in names])

    def _train(self, loss_of: Loss, rule: Optimizer, state: State, *batch: Any) -> tuple[State, Any]:  # noqa: ANN401 (arrays)
        scaled = self._scale != 1
        compute = self._jax.value_and_grad(self._scaled(loss_of) if scaled else loss_of, has_aux=True)
        if self._mesh is not None:
            compute = self._mesh.averaged(compute)
        (loss, statistics), slopes = compute(state["weights"], state["statistics"], *batch)
        if scaled:
            loss, slopes = loss / self._scale, {name: each / self._scale for name, each in slopes.items()}
        count = state["count"] + 1
        update = self._sgd(rule) if isinstance(rule, SGD) else self._adamw(rule, count)
        moved = {name: update(state, name, slope) for name, slope in slopes.items()}
        return {
            "weights": {name: each[0] for name, each in moved.items()},
            "statistics": statistics,
            "first": {name: each[1] for name, each in moved.items()},
            "second": {name: each[2] for name, each in moved.items() if each[2] is not None},
            "count": count,
        }, loss

    def _sgd(self, rule: SGD) -> Any:  # noqa: ANN401 (a function of tensors)
        def update(state: State, name: str, slope: Any) -> tuple[Any, Any, None]:  # noqa: ANN401 (the same)
            weight = state["weights"][name]
            if name in self._decays:
                slope = slope + rule.weight_decay * weight
            first = rule.momentum * state["first"][name] + slope
            return weight - rule.learning_rate * first, first, None

        return update

    def _adamw(self, rule: AdamW, count: Any) -> Any:  # noqa: ANN401 (the same)
        """Return the update of one tensor.

        In float32, 1 − 0.999ᵗ is off by 1e-5 in the first step; −(e^(t·log β) − 1) is the same and loses no digits.
        """
        numpy = self._jax.numpy
        shares = [-numpy.expm1(count * math.log(beta)) for beta in (rule.beta1, rule.beta2)]

        def update(state: State, name: str, slope: Any) -> tuple[Any, Any, Any]:  # noqa: ANN401 (the same)
            weight = state["weights"][name]
            first = rule.beta1 * state["first"][name] + (1 - rule.beta1) * slope
            second = rule.beta2 * state["second"][name] + (1 - rule.beta2) * (slope * slope)
            if name in self._decays:
                # Not w·(1 − 1e-6): float32 knows no such factor to better than some percent of what it takes away.
                weight = weight - (rule.learning_rate * rule.weight_decay) * weight
            step = rule.learning_rate * (first / shares[0]) / (numpy.sqrt(second / shares[1]) + rule.epsilon)
            return weight - step, first, second

        return update

    def computed(self, batch: Arrays) -> Computed:
        """Compile the step once more, for its text; a compile cache makes that short."""
        arrays = [images_last(batch[name]) for name in self._names]
        if self._mesh is not None:
            arrays = [self._mesh.shard(array) for array in arrays]
        text = str(self._call.lower(self._state, *arrays).compile().as_text())  # type: ignore[attr-defined]
        return hlo.computed(text, self._precision)

    def gradients(self) -> Arrays:
        """Return them from the first moments, which after one step hold them and nothing else."""
        rule, first = self._rule, {name: np.asarray(each) for name, each in self._state["first"].items()}
        if isinstance(rule, SGD):
            begin = channels_last(self._begin)
            decay = {name: np.float32(rule.weight_decay if name in self._decays else 0) for name in first}
            return channels_first({name: each - decay[name] * begin[name] for name, each in first.items()})
        return channels_first({name: each / np.float32(1 - rule.beta1) for name, each in first.items()})

    def weights(self) -> Arrays:
        return channels_first(self._state["weights"] | self._state["statistics"])

    def predict(self, inputs: Arrays) -> npt.NDArray[np.float32]:
        state = self._state
        given = [images_last(inputs[name]) for name in self._inputs]
        return np.asarray(self._forward(state["weights"] | state["statistics"], *given))

    def restart(self, weights: Arrays | None = None) -> None:
        self._begin = self._begin if weights is None else weights
        numpy = self._jax.numpy
        self._state = {}  # donated or given up: its memory is needed for the new one
        # Copies: what is donated must not be the arrays that training begins with.
        put = self._mesh.replicate if self._mesh is not None else functools.partial(numpy.array, copy=True)
        none = (lambda each: put(np.zeros(each.shape, each.dtype))) if self._mesh is not None else numpy.zeros_like
        prepared = {name: put(array) for name, array in channels_last(self._begin).items()}
        weights = {name: each for name, each in prepared.items() if name not in self._statistics}
        zeros = functools.partial(self._jax.tree.map, none)
        self._state = {
            "weights": weights,
            "statistics": {name: each for name, each in prepared.items() if name in self._statistics},
            "first": zeros(weights),
            "second": {} if isinstance(self._rule, SGD) else zeros(weights),
            "count": put(np.zeros((), dtype=np.float32)),
        }

    def settings(self) -> dict[str, str]:
        rule = type(self._rule).__name__
        return (
            {
                "mode": "jit of value_and_grad and update, state donated",
                "optimizer": f"{rule}, written out: {', '.join(msgspec.structs.asdict(self._rule))}",
                "output": "the loss, a Python float",
            }
            | ({"loss scale": f"{self._scale:g}"} if self._scale != 1 else {})
            | (self._mesh.settings() if self._mesh is not None else {})
        )


def _linear_loss(names: tuple[str, ...], weights: Tensors, statistics: Tensors, *given: Any) -> tuple[Any, Tensors]:  # noqa: ANN401 (arrays)
    """Return Σ⟨given, weight⟩, mean over the items; its gradients are what is given."""
    items = len(given[0])
    return sum((weights[name] * each).sum() for name, each in zip(names, given, strict=True)) / items, statistics


class Mesh:
    """All devices of all processes in one row: batches are sharded by items, weights replicated.

    Each process computes loss and gradients of its share (`shard_map`), and all of them together are averaged in one
    all-reduce, on a CPU over gloo (on GPUs over NCCL, unverified). XLA's partitioner would make one for each tensor; on
    a CPU each costs a slice of the scheduler, since gloo polls without sleeping.

    See https://docs.jax.dev/en/latest/multi_process.html and https://docs.jax.dev/en/latest/notebooks/shard_map.html
    """

    def __init__(self, jax: Any, replica: Replica) -> None:  # noqa: ANN401 (a module)
        if not jax.distributed.is_initialized():
            jax.config.update("jax_cpu_collectives_implementation", "gloo")
            jax.distributed.initialize(replica.authorities[0], num_processes=replica.processes, process_id=replica.rank)
        self._jax = jax
        self._row = row = jax.sharding.Mesh(np.array(jax.devices()), (AXIS,))
        self.replicated = jax.sharding.NamedSharding(row, jax.sharding.PartitionSpec())
        self._sharded = jax.sharding.NamedSharding(row, jax.sharding.PartitionSpec(AXIS))

    def replicate(self, array: npt.NDArray[Any]) -> Any:  # noqa: ANN401 (an array of JAX's)
        """Return an array that every process holds whole; each must give the same one."""
        return self._jax.make_array_from_process_local_data(self.replicated, np.array(array, copy=True))

    def shard(self, array: npt.NDArray[Any]) -> Any:  # noqa: ANN401 (the same)
        """Return the batch that all processes' shares make, one after the other."""
        return self._jax.make_array_from_process_local_data(self._sharded, array)

    def averaged(self, compute: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of the whole batch from one of a process's share."""
        from jax.flatten_util import ravel_pytree

        jax = self._jax

        def of_share(weights: Any, statistics: Any, *batch: Any) -> Any:  # noqa: ANN401 (trees of arrays)
            (loss, statistics), slopes = compute(weights, statistics, *batch)
            together, apart = ravel_pytree((loss, slopes))
            loss, slopes = apart(jax.lax.pmean(together, AXIS))
            return (loss, statistics), slopes

        def of_all(weights: Any, statistics: Any, *batch: Any) -> Any:  # noqa: ANN401 (the same)
            whole, shared = jax.sharding.PartitionSpec(), jax.sharding.PartitionSpec(AXIS)
            # Unchecked: with the check, gradients of replicated weights are summed at once, tensor by tensor.
            return jax.shard_map(
                of_share,
                mesh=self._row,
                in_specs=(whole, whole, *(shared for _ in batch)),
                out_specs=whole,
                check_vma=False,
            )(weights, statistics, *batch)

        return of_all

    def settings(self) -> dict[str, str]:
        """Read back which engine it is."""
        library = self._jax.config.jax_cpu_collectives_implementation
        devices = self._jax.device_count()
        return {
            "engine": f"jax.distributed, shard_map over {devices} devices, one all-reduce over {library}",
            "processes": str(self._jax.process_count()),
        }
