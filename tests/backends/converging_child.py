"""Trains one backend's network to the target in a process of its own: frameworks do not like each other's company.

Usage: converging_child.py BACKEND MODEL SEEDS [diverge | limit]
"""

import os
import sys

import msgspec

from suite.backends import registry
from suite.backends.protocol import Options
from suite.worker import converging, training
from suite.worker.messages import Converge, Converged, Load, Loaded, Task
from suite.worker.server import Service
from suite.worker.sources import source_of
from suite.zoo.training import convergence

THREADS = min(2, len(os.sched_getaffinity(0)))


def main() -> None:
    backend_name, model, seeds, *words = sys.argv[1:]
    goal = convergence.goal(model)
    task = Task(backend=backend_name, model=model, batch=goal.batch, threads=THREADS, scenario=converging.SCENARIO)
    if words:
        print(msgspec.json.encode([otherwise(backend_name, task, words[0])]).decode())
        return
    service = Service()
    loaded = service.answer(Load(task, launch_measured=False))
    assert isinstance(loaded, Loaded)
    found = [service.answer(Converge(seed)) for seed in range(int(seeds))]
    print(msgspec.json.encode(found).decode())
    print(msgspec.json.encode(loaded).decode())


def otherwise(backend_name: str, task: Task, how: str) -> Converged:
    """Train with a rate at which nothing holds, or for too few steps."""
    goal = convergence.goal(task.model)
    if how == "diverge":
        goal = msgspec.structs.replace(goal, optimizer=msgspec.structs.replace(goal.optimizer, learning_rate=1e30))
    else:
        goal = msgspec.structs.replace(goal, steps=20)
    backend = registry.create(backend_name, Options(threads=THREADS))
    return converging.train(training.load(backend, task, source_of(task), goal.optimizer), goal, 0)


if __name__ == "__main__":
    main()
