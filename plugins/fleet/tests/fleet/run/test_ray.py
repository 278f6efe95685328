"""A fleet on a real cluster of Ray: two nodes on this machine, one of which is killed, and a head that is killed."""

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from levelfield.errors import LevelfieldError
from levelfield.images.wheels import silent
from levelfield.paths import cache_folder
from levelfield.record import files, journal, page
from levelfield.record.schema import Run
from levelfield_fleet.run import asking, images, local, messages
from levelfield_fleet.run import cluster as clusters
from levelfield_fleet.run import journal as fleets
from levelfield_fleet.run.messages import Failed, Measure
from levelfield_fleet.run.state import State, load
from tests import commands
from tests.commands import Command, eventually
from tests.fleet.run import processes

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
]
PLAN = (
    "--profile", "smoke", "--models", "mlp", "--scenarios", "latency", "--backends", "onnxruntime", "--control", "none",
    "--threads", "1,2", "--launcher", "venv",
)  # fmt: skip
OWN = "LEVELFIELD_TEST_NODE"
"""A variable that each node has for itself."""
NOT_DECIDED = 3
"""Exit code: of two nodes, neither is named."""
QUICK = {"RAY_health_check_initial_delay_ms": "1000", "RAY_health_check_period_ms": "500"}
"""Ray hears in seconds that a node is gone."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    variables = {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": commands.IMPORTS, **QUICK}
    with local.surroundings(variables), local.nodes(2, [{OWN: "one"}, {OWN: "two"}]) as address:
        yield address


class Fleet:
    def __init__(self, name: str, folder: Path, cluster: str) -> None:
        self.name, self.folder, self._cluster = name, folder, cluster
        self.reports = folder / "reports"

    def run(self, *words: str) -> Command:
        return Command("fleet", "run", "--on", self._cluster, *words, folder=self.folder)

    @property
    def state(self) -> State:
        return load(self.name, self.reports)

    def on_node(self, node: str) -> Path:
        """Return the folder of runs on a node: all nodes are this machine, and have one cache."""
        return cache_folder("fleets") / self.state.begun.fleet / node / "0" / "reports"

    def run_on_node(self, node: str) -> Path:
        """Return the folder of the one run that a node has begun."""
        (path,) = self.on_node(node).glob(f"*/{files.JOURNAL}")
        return path.parent

    def is_measuring(self, node: str) -> bool:
        with contextlib.suppress(Exception):
            found = self.state
            return not found.nodes[node].runs and any(
                turns(so_far(path.parent)) for path in self.on_node(node).glob(f"*/{files.JOURNAL}")
            )
        return False

    def record(self, node: str) -> Run:
        done = self.state.nodes[node].runs[-1]
        return files.read(fleets.folder(self.name, self.reports) / node / done.run)

    def forget(self) -> None:
        shutil.rmtree(cache_folder("fleets") / self.state.begun.fleet, ignore_errors=True)


def so_far(folder: Path) -> Run:
    return journal.fold(journal.read(folder / files.JOURNAL))


def turns(run: Run) -> set[bytes]:
    return {
        msgspec.json.encode(turn)
        for block in run.blocks
        for generation in block.generations
        for round_ in generation.rounds
        for turn in round_.turns
        if turn.window is not None
    }


def name_of(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.NoSuchProcess:  # it has just ended
        return ""


def listens_at(process: psutil.Process) -> set[str]:
    try:
        found = process.net_connections(kind="tcp")
    except psutil.NoSuchProcess:  # an idle worker of Ray
        return set()
    return {each.laddr.ip.removeprefix("::ffff:") for each in found if each.status == psutil.CONN_LISTEN}


def node_of(fleet: Fleet, number: int) -> str:
    machine = clusters.machine_of(local.name_of(number))
    with contextlib.suppress(LevelfieldError):
        return next((node.name for node in fleet.state.nodes.values() if node.machine == machine), "")
    return ""


@pytest.mark.extended
def test_a_node_that_is_killed_costs_no_finished_round(cluster: str, tmp_path: Path) -> None:
    """All of Ray on the node is killed at once; what measures there has to end by itself."""
    fleet = Fleet("first", tmp_path, cluster)
    head = fleet.run("--name", "first", "--at-once", "2", *PLAN)
    assert eventually(lambda: not head.running or fleet.is_measuring(node_of(fleet, 2)))
    name = node_of(fleet, 2)
    tree = processes.of_node(2)
    ours = list(filter(processes.measures, tree))
    assert ours
    for each in tree:
        if each not in ours:
            each.kill()
    assert eventually(lambda: not processes.still_there(ours))
    cut_off = fleet.run_on_node(name)
    before = so_far(cut_off)
    head.wait()
    assert head.code == NOT_DECIDED, head.out + head.err
    assert (fleets.folder("first", fleet.reports) / "fleet.html").is_file()
    found = fleet.state.nodes
    assert {node.name: node.attempts for node in found.values()} == {"node-01": 1, "node-02": 1} | {name: 2}, head.out
    assert f"{name}: failed (1 try left). Ray lost the node" in head.out
    record = fleet.record(name)
    assert record.id == cut_off.name
    assert record.resumed
    assert turns(before) <= turns(record)
    fleet.forget()


@pytest.mark.extended
def test_a_head_that_is_killed_goes_on(cluster: str, tmp_path: Path) -> None:
    fleet = Fleet("second", tmp_path, cluster)
    head = fleet.run("--name", "second", "--at-once", "1", *PLAN)
    assert eventually(lambda: not head.running or fleet.is_measuring("node-02"))
    ours = processes.of_cluster().measuring
    assert ours, head.wait().out
    head.send(signal.SIGKILL)
    head.wait()
    assert eventually(lambda: not processes.still_there(ours))
    first = fleet.state.nodes["node-01"]
    assert len(first.runs) == 1
    cut_off = fleet.run_on_node("node-02")
    before = so_far(cut_off)
    begun = time.time()
    resumed = fleet.run("--resume", "second").wait()
    assert resumed.code == NOT_DECIDED, resumed.out + resumed.err
    assert fleet.state.nodes["node-01"] == first
    file = fleets.folder("second", fleet.reports) / "node-01" / first.runs[0].run / page.NAME
    assert file.stat().st_mtime < begun
    record = fleet.record("node-02")
    assert record.id == cut_off.name
    assert record.resumed
    assert turns(before) <= turns(record)
    assert not processes.of_cluster().measuring
    fleet.forget()


@pytest.mark.parametrize(
    ("sha256", "says"),
    [("", "There is no model called 'mpl'"), ("0" * 64, "The bundle that arrived here has the SHA-256")],
)
def test_a_bundle_reaches_a_node_in_pieces(
    cluster: str, monkeypatch: pytest.MonkeyPatch, sha256: str, says: str
) -> None:
    monkeypatch.setattr(images, "CHUNK_BYTES", 1 << 22)
    with clusters.connected(cluster):
        bundle = images.bundle(["canary"], "venv", silent)
        assert len(bundle.chunks) > 2
        words = ("--models", "mpl", "--launcher", "venv")
        request = Measure("bundle-test", "node-01", words, 1, 60.0, sha256 or bundle.sha256)
        reference = asking.ask(clusters.alive(identify=False)[0], messages.encode(request), bundle.chunks)
        answer = messages.reply_of(asking.reply(reference))
    shutil.rmtree(cache_folder("fleets") / "bundle-test", ignore_errors=True)
    assert isinstance(answer, Failed)
    assert says in answer.reason


def test_nodes_of_this_machine_are_reached_by_nobody_else(cluster: str) -> None:
    """They listen on the loopback alone, and a client without their token is turned away."""
    listening = {address for each in processes.of_cluster().ray for address in listens_at(each)}
    assert listening
    assert listening == {"127.0.0.1"}
    call = f"import ray; ray.init('{cluster}', log_to_driver=False)"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    done = subprocess.run(
        [sys.executable, "-c", call],
        env=environment | {"RAY_AUTH_MODE": "disabled"},
        capture_output=True,
        check=False,
        timeout=commands.PATIENCE_S,
    )
    assert done.returncode != 0
    assert b"Unauthenticated" in done.stderr


def test_a_node_has_variables_of_its_own_also_when_it_was_started_again(cluster: str) -> None:
    for number, value in ((1, "one"), (2, "two")):
        raylet = processes.of_node(number)[0]
        assert raylet.environ()[OWN] == value, cluster


def test_a_cluster_of_one_s_own_leaves_nothing(tmp_path: Path) -> None:
    """A head that is killed takes the nodes that it started with it."""
    head = Command("fleet", "run", "--on", "local:2", "--name", "third", *PLAN, folder=tmp_path)
    fleet = tmp_path / "reports" / "fleets" / "third"
    assert eventually(lambda: not head.running or fleet.is_dir())
    assert head.running, head.wait().err
    tree = psutil.Process(head.pid).children(recursive=True)
    assert any("raylet" in name_of(each) for each in tree), head.wait().out
    head.send(signal.SIGKILL)
    head.wait()
    assert eventually(lambda: not processes.still_there(tree))
