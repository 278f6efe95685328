"""How long weights of a folder take to load in each framework, beside the transformers library's own loader.

`nox -s loading` calls it. It needs a quiet machine; its record is committed with the reports.
"""

import random
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import docker
import msgspec

from studies import commands
from studies.loading import inside
from studies.loading.findings import analyse, markdown
from studies.loading.inside import ANSWER, Loaded, Request
from studies.loading.record import LIBRARY, Cell, Load, Trial
from studies.overhead.contestants import Target, last_answer, python_of, run_program
from studies.peers.workspace import Workspace
from studies.record import begin
from studies.workers import launch
from suite.cli.options import NAMES
from suite.errors import LevelfieldError
from suite.images.build import build
from suite.launchers.docker import NOBODY, connect
from suite.prepare.own_weights import store
from suite.record.schema import Absent, Block
from suite.schedule.outcomes import end_workers
from suite.schedule.resources import RunResources
from suite.zoo import models as zoo

BACKEND = "transformers"
"""In whose image the library loads."""
TIMEOUT_S = 300.0
"""Most time of one load by the library."""


class Network(NamedTuple):
    """A network of the library in its usual size."""

    network: str
    configuration: str
    fields: dict[str, int]
    inputs: dict[str, tuple[int, ...]]


NETWORKS = {
    "bert": Network("BertModel", "BertConfig", {}, {"input_ids": (1, 128), "attention_mask": (1, 128)}),
    "resnet50": Network(
        "ResNetForImageClassification", "ResNetConfig", {"num_labels": 1000}, {"pixel_values": (1, 3, 224, 224)}
    ),
}
"""By family."""


def run(
    keep: commands.Keep[Trial],
    listener: commands.Terminal,
    *,
    models: tuple[str, ...],
    backends: tuple[str, ...],
    rounds: int,
    seed: int,
) -> Trial:
    """Measure every network.

    Parameters
    ----------
    keep : callable
        Writes the record, after every network.
    listener : commands.Terminal
        Display of the progress.
    models, backends : tuple of str
        Families, and what loads them.
    rounds : int
        That are counted; one more comes before them.
    seed : int
        Of the schedule.

    Returns
    -------
    Trial
        Without findings.

    Raises
    ------
    LevelfieldError
        No engine answers, an image cannot be made, or a network cannot be loaded.
    """
    unknown = next((name for name in models if name not in NETWORKS), None)
    if unknown is not None:
        raise LevelfieldError(f"{unknown} is no network of this trial.", fix=f"Choose from {', '.join(NETWORKS)}.")
    trial: Trial | None = None
    for family in models:
        with Workspace() as workspace:
            _save(connect(), family, workspace)
            began = time.perf_counter_ns()
            kept = store.keep(workspace.out)
            keep_ns = time.perf_counter_ns() - began
            named = (*dict.fromkeys((BACKEND, *backends)),)
            selected = commands.selection((kept[0].model,), named, own_weights=kept)
            with commands.prepared(selected, listener) as (plan, resources):
                listener.say(f"{family}: {rounds + 1} rounds")
                loads = tuple(measure(resources, plan.blocks[0], family, workspace, rounds=rounds, seed=seed))
                trial = trial or begin(Trial, resources, seed=seed)
        parameters = zoo.get(kept[0].model).parameter_count
        cell = Cell(model=kept[0].model, family=family, parameters=parameters, keep_ns=keep_ns, loads=loads)
        trial = trial.updated(cells=(*trial.cells, cell))
        keep(trial)
    if trial is None:
        raise LevelfieldError("No network was named.", fix=f"Choose from {', '.join(NETWORKS)}.")
    return trial


def _save(client: docker.DockerClient, family: str, workspace: Workspace) -> None:
    """Let the library make a network and save it under `/out`."""
    network = NETWORKS[family]
    request = Request(network.network, "/out", network.configuration, network.fields)
    client.containers.run(
        build(BACKEND).tag,
        ["-P", "-c", _code(), msgspec.json.encode(request).decode()],
        entrypoint="/opt/levelfield/env/bin/python",
        environment={"HOME": "/tmp"},  # noqa: S108 (of the container)
        network_mode="none",
        user=f"{NOBODY}:{NOBODY}",
        tmpfs={"/tmp": "rw,exec"},  # noqa: S108 (of the container)
        volumes={str(workspace.out): {"bind": "/out", "mode": "rw"}},
        remove=True,
    )


def _code() -> str:
    return Path(inside.__file__).read_text(encoding="utf-8")


def measure(
    resources: RunResources, block: Block, family: str, workspace: Workspace, *, rounds: int, seed: int
) -> Iterator[Load]:
    """Load a network by all arms and by the library, each in a new process, in random order in each round.

    Parameters
    ----------
    resources : RunResources
        Images and artifacts.
    block : Block
        The case and its arms.
    family : str
        Of the network.
    workspace : Workspace
        Holds the network's folder.
    rounds : int
        That are counted.
    seed : int
        Of the order.

    Yields
    ------
    Load
        Of one process.

    Raises
    ------
    LevelfieldError
        An arm cannot load it.
    """
    order = random.Random(f"{seed}/{block.case.id}")  # noqa: S311 (a schedule)
    arms = {arm.id: arm for arm in block.arms}
    theirs = Target(connect(), resources, block.case, arms[BACKEND], resources.cpus)
    for number in range(rounds + 1):
        pending: Sequence[str] = [LIBRARY, *arms]
        for name in order.sample(pending, len(pending)):
            if name == LIBRARY:
                found = _library(theirs, family, workspace)
                yield Load(number, name, 0, found.load_ns, found.first_call_ns)
                continue
            (outcome,) = launch(resources, block.case, [arms[name]])
            end_workers([outcome])
            startup = outcome.launch.startup
            if startup is None or isinstance(startup.first_call_ns, Absent):
                raise LevelfieldError(f"{name} says no times of its start.")
            yield Load(number, name, startup.weights_ns, startup.load_ns, startup.first_call_ns)


def _library(target: Target, family: str, workspace: Workspace) -> Loaded:
    network = NETWORKS[family]
    request = Request(network.network, "/out", inputs=network.inputs)
    command = [python_of(target), "-P", "-c", _code(), msgspec.json.encode(request).decode()]
    output = run_program(target, LIBRARY, command, {"/out": (workspace.out, "ro")}, TIMEOUT_S)
    return last_answer(output, ANSWER, Loaded, LIBRARY)


@click.command(context_settings=commands.SETTINGS)
@click.option("--models", type=NAMES, default=tuple(NETWORKS), help="Only these, separated by commas.")
@click.option("--backends", type=NAMES, default=("torch",), help="What loads them, separated by commas.")
@click.option("--rounds", type=click.IntRange(1), default=10, show_default=True, help="That are counted.")
@commands.seed_option
@commands.out_option
@commands.analyse_option
def main(out: Path | None, only: Path | None, **requested: Any) -> None:  # noqa: ANN401
    """Measure how long weights of a folder take to load, beside the library's own loader."""
    commands.conduct(Trial, partial(run, **requested), analyse, markdown, out=out, only=only, indent=-1)
    sys.exit(0)
