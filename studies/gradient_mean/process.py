"""One of several processes that train an MLP in JAX: both ways to average gradients, in turns, printed as JSON.

It imports nothing of Levelfield, and runs in the environment of its JAX image. Its options come on the command line as
JSON: number of processes, rank, port of the coordinator, CPUs, widths of the layers, batch, rounds, and steps a window.
"""

import itertools
import json
import os
import re
import sys
import time
from typing import Any, TypeAlias

import numpy as np

Tree: TypeAlias = Any
"""Of JAX's arrays."""


def main() -> None:
    """Train by turns, and print the windows of the first process."""
    options = json.loads(sys.argv[1])
    os.sched_setaffinity(0, options["cpus"])
    import jax
    from jax.flatten_util import ravel_pytree
    from jax.sharding import NamedSharding, PartitionSpec

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        f"127.0.0.1:{options['port']}", num_processes=options["processes"], process_id=options["rank"]
    )
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("replicas",))
    whole, shared = PartitionSpec(), PartitionSpec("replicas")
    random = np.random.default_rng(1)
    widths, share = options["widths"], options["batch"] // options["processes"]
    place = jax.make_array_from_process_local_data
    begin = {
        f"{layer}.{kind}": place(
            NamedSharding(mesh, whole), random.standard_normal(shape).astype(np.float32) / np.float32(shape[0] ** 0.5)
        )
        for layer, (fan_in, fan_out) in enumerate(itertools.pairwise(widths))
        for kind, shape in (("weight", (fan_in, fan_out)), ("bias", (fan_out,)))
    }
    features = place(
        NamedSharding(mesh, shared), random.standard_normal((share, widths[0])).astype(np.float32) + options["rank"]
    )

    def loss_of(weights: Tree, x: Tree) -> Tree:
        for layer in range(len(widths) - 1):
            x = jax.nn.relu(x @ weights[f"{layer}.weight"] + weights[f"{layer}.bias"])
        return (x * x).mean()

    def update(weights: Tree, slopes: Tree) -> Tree:
        return jax.tree.map(lambda weight, slope: weight - 1e-4 * slope, weights, slopes)

    def by_partitioner(weights: Tree, x: Tree) -> Tree:
        loss, slopes = jax.value_and_grad(loss_of)(weights, x)
        return update(weights, slopes), loss

    def together(weights: Tree, x: Tree) -> Tree:
        def of_share(weights: Tree, x: Tree) -> Tree:
            flat, apart = ravel_pytree(jax.value_and_grad(loss_of)(weights, x))
            return apart(jax.lax.pmean(flat, "replicas"))

        mean = jax.shard_map(of_share, mesh=mesh, in_specs=(whole, shared), out_specs=whole, check_vma=False)
        loss, slopes = mean(weights, x)
        return update(weights, slopes), loss

    everywhere = NamedSharding(mesh, whole)
    steps = {
        name: jax.jit(step, out_shardings=everywhere).lower(begin, features).compile()
        for name, step in (("by the partitioner", by_partitioner), ("together", together))
    }
    losses = {name: float(step(begin, features)[1]) for name, step in steps.items()}
    found: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(options["rounds"] + 1):
        for name in sorted(steps, reverse=bool(number % 2)):
            weights = begin
            started_ns = time.perf_counter_ns()
            for _ in range(options["steps"]):
                weights, loss = steps[name](weights, features)
                float(loss)
            if number:  # the first round warms up
                found[name].append((time.perf_counter_ns() - started_ns) / options["steps"])
    reduced = {
        name: sum(len(each.split(",")) for each in re.findall(r" all-reduce\(([^)]*)\)", step.as_text()))
        for name, step in steps.items()
    }
    if options["rank"] == 0:
        print(json.dumps({"version": jax.__version__, "step_ns": found, "losses": losses, "reduced": reduced}))


if __name__ == "__main__":
    main()
