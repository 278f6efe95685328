"""Data-parallel training in TensorFlow: MultiWorkerMirroredStrategy over its own ring (NCCL on GPUs, unverified).

References
----------
https://www.tensorflow.org/tutorials/distribute/multi_worker_with_ctl
"""

from collections.abc import Callable
from typing import Any

from levelfield.backends.parallel import Replica


class Workers:
    """The strategy, which must be made before TensorFlow computes anything, and is kept as long as the process runs."""

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

    def all_reduce(self, numbers: int) -> Callable[[], float]:
        """Return a call that sums float32 ones over all processes; see `SumsOverProcesses`."""
        tf = self._tf

        def sum_of(ones: Any) -> Any:  # noqa: ANN401 (tensors)
            # An argument of the function has no device yet, and the sum is made on that of what is summed.
            placed = tf.identity(ones)
            return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, placed)

        compiled = tf.function(lambda ones: self.strategy.run(sum_of, args=(ones,)), autograph=False)
        ones = tf.ones((numbers,), tf.float32)
        return lambda: float(compiled(ones)[0].numpy())

    def settings(self) -> dict[str, str]:
        """Read back which engine it is."""
        return {
            "engine": f"MultiWorkerMirroredStrategy over {self._way.name}",
            "processes": str(self.strategy.num_replicas_in_sync),
        }
