"""One model, trained by two hosts: network namespaces with addresses and names of their own, joined by a cable.

That the hosts share a processor, a clock and a file system is what such a test cannot do away with.
"""

import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import docker
import pytest

from suite import analysis
from suite.images import environments
from suite.record import files
from suite.record.files import JOURNAL
from suite.record.schema import AllReduce
from suite.report import html
from tests.commands import Command, eventually, one_clear_sentence, run
from tests.engines import none_left

pytestmark = [
    pytest.mark.alone,  # two hosts need two CPUs
    pytest.mark.skipif(
        bool(os.geteuid()) or not all(map(shutil.which, ("ip", "unshare", "hostname"))),
        reason="network namespaces need root and iproute2",
    ),
]
ENGINES = {"torch": None, "tensorflow": None, "jax@0.10.2+python=3.11": "0.10.2-py3.11"}
"""Backends that virtual environments of Python 3.11 can have, and the names of their locks."""
PORT = 7450


class Hosts:
    """Two hosts, and a file with the key that both have."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names = [f"lf{secrets.token_hex(3)}" for _ in range(2)]
        self.addresses = ("10.213.7.1", "10.213.7.2")
        self.reports = folder / "reports"
        self.key = folder / "key"
        self.key.write_text(secrets.token_hex(32))
        self.key.chmod(0o600)
        self._started: list[Command] = []

    def __enter__(self) -> Self:
        one, two = self._names
        for name in self._names:
            _ip("netns", "add", name)
        _ip("link", "add", "wire", "netns", one, "type", "veth", "peer", "name", "wire", "netns", two)
        for name, address in zip(self._names, self.addresses, strict=True):
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", "wire")
            for interface in ("lo", "wire"):
                _ip("-n", name, "link", "set", interface, "up")
        return self

    def __exit__(self, *_: object) -> None:
        for command in self._started:  # a test that failed may have left some
            if command.running:
                command.send(signal.SIGKILL)
                command.wait()
        for name in self._names:
            _ip("netns", "del", name)

    def on(self, host: int, *words: str | Path) -> Command:
        """Start a command on a host, whose name stands for its address."""
        named = f'hostname {self.addresses[host]} && exec "$@"'
        within = ("ip", "netns", "exec", self._names[host], "unshare", "--uts", "sh", "-c", named, "sh")
        self._started.append(Command(*words, folder=self._folder, within=within))
        return self._started[-1]

    def agent(self) -> Command:
        """Let the second host wait for runs, on its last CPU."""
        cpu = str(max(os.sched_getaffinity(0)))
        at = f"{self.addresses[1]}:{PORT}"
        started = self.on(1, "peer", "--listen", at, "--key", self.key, "--launcher", "venv", "--cpus", cpu)
        assert eventually(lambda: "Waiting for runs" in started.out_so_far or not started.running)
        return started

    def bench(self, *words: str | Path) -> Command:
        """Train on the first host, on its first CPU, and on the second."""
        cpu = str(min(os.sched_getaffinity(0)))
        peers = ("--peers", f"{self.addresses[1]}:{PORT}", "--peer-key", self.key)
        options = f"--profile smoke --models mlp --scenarios training --batch 64 --threads 1 --cpus {cpu}".split()
        where = ("--launcher", "venv", "--control", "none", "--reports", self.reports)
        return self.on(0, "bench", *options, *where, *peers, *words)

    def folder(self) -> Path:
        """Return the folder of the one run."""
        (found,) = self.reports.glob("*-smoke-*")
        return found

    def named_in_the_record(self) -> list[str]:
        """Return the addresses that stand in the record, its journal or its page."""
        content = b"".join(path.read_bytes() for path in self.folder().iterdir() if path.is_file())
        return [address for address in self.addresses if address.encode() in content]


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    with Hosts(tmp_path) as made:
        yield made


def test_two_hosts_train_as_one_process_does(hosts: Hosts) -> None:
    for backend, version in ENGINES.items():
        environments.make(backend.partition("@")[0], version=version)  # the hosts reach no index of packages
    agent = hosts.agent()
    bench = hosts.bench("--nodes", "2", "--backends", ",".join(ENGINES)).wait()
    assert bench.code == 0, bench.err + bench.out
    agent.send(signal.SIGINT)
    agent.wait()
    assert "Traceback" not in agent.err + agent.out
    made = files.read(hosts.folder())
    (block,) = made.blocks
    assert block.case.id == "mlp/training/fp32/b64/t1/cpu/p2/h2"
    for generation in block.generations:
        for launch in (each for each in generation.launches if each.arm != block.canary):
            assert launch.failure is None, launch.failure
            assert launch.parity is not None
            assert launch.parity.equal, launch.parity.reason
            assert launch.settings["processes"] == "2"
            assert launch.memory is not None
            assert launch.memory.source.endswith("summed over 2 processes on 2 hosts")
            assert isinstance(launch.all_reduce, AllReduce), launch.all_reduce
            assert len(launch.all_reduce.samples_ns) == 20
            assert "LEVELFIELD_JOIN" not in launch.environment, "a record holds no key"
        for each in generation.rounds:
            assert {turn.arm for turn in each.turns if turn.window} == {*ENGINES, "canary"}
    (other,) = made.other_hosts
    assert other["cpu"]["CPUs measured on"] == str(max(os.sched_getaffinity(0)))
    assert made.settings.host_counts == (2,)
    assert not hosts.named_in_the_record(), "no address is published"
    page = html.render(made, analysis.analyse(made))
    assert "one on each of 2 hosts" in page
    assert "Host 2" in page


def test_a_host_that_is_lost_costs_its_own_launches_only(hosts: Hosts) -> None:
    agent = hosts.agent()
    bench = hosts.bench("--nodes", "1,2", "--backends", "torch")
    assert eventually(lambda: bool(_journalled(hosts, "launch", "/p2/h2")) or not bench.running)
    bench.send(signal.SIGSTOP)  # it orders no window more until the agent is gone
    assert len(_journalled(hosts, "turn", "/p2/h2")) < 2, "windows are still to come"
    agent.send(signal.SIGKILL)
    agent.wait()
    bench.send(signal.SIGCONT)
    bench.wait()
    assert bench.code == 1, bench.err + bench.out
    alone, together = files.read(hosts.folder()).blocks
    assert all(turn.window for each in alone.generations for round_ in each.rounds for turn in round_.turns)
    failures = [
        turn.failure for each in together.generations for round_ in each.rounds for turn in round_.turns if turn.failure
    ]
    failures += [launch.failure for each in together.generations for launch in each.launches if launch.failure]
    said = " ".join(failure.message for failure in failures)
    assert "on another host ended before its time, or that host is no longer reached" in said
    assert "The agent on host 2 does not answer any more" in said
    assert not hosts.named_in_the_record()


def _journalled(hosts: Hosts, kind: str, ending: str) -> list[str]:
    """Return the lines of a kind that the journal has of a case already."""
    journals = hosts.reports.glob(f"*/{JOURNAL}")
    lines = (line for path in journals for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if f'"type":"{kind}"' in line and f'{ending}"' in line]


def test_what_is_missing_is_one_sentence(hosts: Hosts) -> None:
    one_clear_sentence(hosts.bench("--nodes", "2").wait(), "cannot be reached", "Run `levelfield peer --listen` there")
    one_clear_sentence(hosts.bench("--nodes", "4").wait(), "--nodes needs 3 besides this host, and --peers names 1.")
    one_clear_sentence(hosts.bench("--nodes", "1").wait(), "--nodes needs 0 besides this host, and --peers names 1.")


@pytest.mark.docker
def test_containers_train_through_the_network_of_their_hosts(engine: docker.DockerClient, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(secrets.token_hex(32))
    key.chmod(0o600)
    first, last = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    at = f"127.0.0.2:{PORT + 1}"
    agent = Command("peer", "--listen", at, "--key", key, "--cpus", str(last), folder=tmp_path)
    assert eventually(lambda: "Waiting for runs" in agent.out_so_far or not agent.running)
    options = f"--profile smoke --models mlp --scenarios training --backends jax --threads 1 --cpus {first}".split()
    peers = ("--nodes", "2", "--peers", at, "--peer-key", key, "--control", "none")
    bench = run("bench", *options, *peers, "--reports", tmp_path / "reports", folder=tmp_path)
    agent.send(signal.SIGINT)
    agent.wait()
    assert bench.code == 0, bench.err + bench.out
    made = files.read(next((tmp_path / "reports").glob("*/run.json")).parent)
    (block,) = made.blocks
    for generation in block.generations:
        (launch,) = (each for each in generation.launches if each.arm == "jax")
        assert launch.parity is not None
        assert launch.parity.equal, launch.failure
        assert isinstance(launch.all_reduce, AllReduce)
    assert none_left(engine, bench.pid)
    assert none_left(engine, agent.pid)
