"""Data-parallel training in JAX: one program for all processes, batches sharded by items and weights replicated.

Each process computes loss and gradients of its share (`shard_map`), and all of them together are averaged in one
all-reduce; on a CPU it goes over gloo (on GPUs over NCCL, unverified). Left to XLA's partitioner, each tensor would
have an all-reduce of its own, and on a CPU each costs a slice of the scheduler: gloo polls without sleeping, so that on
one CPU the thread that it waits for runs only after that.

References
----------
https://docs.jax.dev/en/latest/multi_process.html
https://docs.jax.dev/en/latest/notebooks/shard_map.html
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.backends.parallel import Replica

AXIS = "replicas"


class Mesh:
    """All devices of all processes in one row, and how arrays lie on them."""

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

    def all_reduce(self, numbers: int) -> Callable[[], float]:
        """Return a call that sums float32 ones over all processes; see `SumsOverProcesses`."""
        jax = self._jax
        spec = jax.sharding.PartitionSpec
        summed = jax.jit(
            jax.shard_map(
                lambda ones: jax.lax.psum(ones, AXIS)[0], mesh=self._row, in_specs=spec(AXIS), out_specs=spec()
            )
        )
        ones = self.shard(np.ones((1, numbers), np.float32))

        def call() -> float:
            found = summed(ones)
            found.block_until_ready()
            return float(found.addressable_data(0)[0])

        return call

    def settings(self) -> dict[str, str]:
        """Read back which engine it is."""
        library = self._jax.config.jax_cpu_collectives_implementation
        devices = self._jax.device_count()
        return {
            "engine": f"jax.distributed, shard_map over {devices} devices, one all-reduce over {library}",
            "processes": str(self._jax.process_count()),
        }
