"""The whole command with real containers, on good days and on bad ones."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import docker
import pytest

from levelfield.record import files, journal
from levelfield.record.append_only import Lost
from levelfield.record.journal import Event, LaunchDone, RoundDone, Started, TurnTaken
from levelfield.record.page import NAME as REPORT
from levelfield.record.schema import Run
from tests.commands import Command, eventually, one_clear_sentence, run
from tests.engines import Cable, containers, none_left, nothing_runs

pytestmark = pytest.mark.docker

JAX = ("bench", "--profile", "smoke", "--models", "mlp", "--backends", "jax", "--reports")
"""A run of about ten seconds: two containers of JAX, one of the canary."""


class Case:
    """A folder for reports, and a folder for temporary files that must be empty in the end."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self.folder = folder
        self.reports = folder / "reports"
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self.environment = {"TMPDIR": str(self.temporary)}

    def start(self, *words: str | Path, **environment: str) -> Command:
        return Command(*words, folder=self.folder, environment={**self.environment, **environment})

    def run(self, *words: str | Path, **environment: str) -> Command:
        return run(*words, folder=self.folder, environment={**self.environment, **environment})

    @property
    def journal(self) -> Path | None:
        return next(self.reports.glob("*/journal.jsonl"), None) if self.reports.exists() else None

    def events(self) -> list[Event | Lost]:
        return journal.read(self.journal) if self.journal is not None else []

    @property
    def place(self) -> Path:
        """The folder of the run, whose journal goes when it has ended."""
        return next(path.parent for name in (REPORT, files.JOURNAL) for path in self.reports.glob(f"*/{name}"))

    def record(self) -> Run:
        return files.read(self.place)

    def until(self, command: Command, kind: type[Any], count: int) -> None:
        """Wait until the journal of a running command holds so many events of a kind."""

        def there() -> bool:
            return sum(isinstance(event, kind) for event in self.events()) >= count

        assert eventually(lambda: not command.running or there())
        assert command.running, command.wait().err


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def complete(one: Run) -> None:
    """Check that a record is whole: every planned generation, every answer equal to the reference."""
    assert one.finished
    for block in one.blocks:
        whole = [generation for generation in block.generations if generation.complete]
        assert len(whole) == block.planned_generations
        for generation in whole:
            for launch in generation.launches:
                assert launch.failure is None
                assert launch.parity is not None
                assert launch.parity.equal, launch.parity.reason
                assert isinstance(launch.parity.relative_error, float)
                assert launch.parity.relative_error < 1e-5


def test_a_whole_bench(engine: docker.DockerClient, case: Case) -> None:
    command = case.start(
        "bench", "--profile", "smoke", "--models", "mlp", "--backends", "jax,onnxruntime", "--batch", "100",
        "--scenarios", "latency,throughput,cold-start,memory", "--reports", case.reports,
    )  # fmt: skip
    command.wait()
    assert command.code == 0, command.err + command.out
    one = case.record()
    complete(one)
    assert [block.case.scenario for block in one.blocks] == ["cold-start", "memory", "latency", "throughput"]
    assert one.blocks[3].case.batch == 100
    assert {image.name for image in one.images} >= {"jax", "onnxruntime", "canary"}
    for image in one.images:
        assert image.launcher == "docker"
        assert image.layers
        assert image.lock_sha256
        assert image.base.startswith("debian")
        assert "numpy" in image.distributions
    assert {"jax", "jaxlib"} <= next(image for image in one.images if image.name == "jax").distributions.keys()
    assert {artifact.name.rpartition(" ")[2] for artifact in one.artifacts} == {"weights", "onnx"}
    cold, memory, latency, _ = (block.generations[0] for block in one.blocks)
    assert not any(launch.cache_warm for launch in cold.launches)
    for launch in (*cold.launches, *memory.launches, *latency.launches):
        assert launch.startup is not None
        assert min(launch.startup.start_ns, launch.startup.import_ns, launch.startup.load_ns) >= 0
        assert launch.weights_sha256 or launch.onnx_sha256
    for launch in cold.launches:
        assert launch.startup is not None
        assert isinstance(launch.startup.first_call_ns, int)
        assert min(launch.startup.start_ns, launch.startup.import_ns, launch.startup.first_call_ns) > 0
    for launch in memory.launches:
        assert launch.memory is not None
        assert isinstance(launch.memory.peak_rss_bytes, int)
        assert launch.memory.peak_rss_bytes > 20 << 20
    for each in latency.rounds:
        assert {turn.arm for turn in each.turns} == {"jax", "onnxruntime", "onnxruntime#2", "canary"}
    assert isinstance(one.supervisor_window_share, float)
    assert one.supervisor_window_share < 0.05
    page = (case.place / REPORT).read_text(encoding="utf-8")
    assert "onnxruntime" in page
    assert str(case.folder) not in page + files.content_of(case.place).decode()
    assert f"Report: {case.place / REPORT}" in command.out
    assert none_left(engine, command.pid)
    assert not list(case.temporary.iterdir())


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "count"), [(Started, 1), (LaunchDone, 2), (TurnTaken, 2), (RoundDone, 3)])
def test_a_killed_run_is_taken_up_again(engine: docker.DockerClient, case: Case, kind: type[Any], count: int) -> None:
    """While the first workers load, while they warm up, within a round, and in the second generation."""
    command = case.start(*JAX, case.reports)
    case.until(command, kind, count)
    command.send(signal.SIGKILL)
    command.wait()
    assert nothing_runs(engine, command.pid)
    before = journal.fold(case.events())
    assert before.finished is None

    again = case.run("bench", "--resume", before.id, "--reports", case.reports)
    assert again.code == 0, again.err + again.out
    one = case.record()
    complete(one)
    assert one.id == before.id
    assert len(one.resumed) == 1
    kept = before.blocks[0].generations
    assert one.blocks[0].generations[: len(kept)] == kept, "complete rounds of the cut generation are kept"
    cut = [generation for generation in one.blocks[0].generations if not generation.complete]
    assert len(cut) == sum(not generation.complete for generation in kept)
    assert none_left(engine, again.pid)
    assert none_left(engine, command.pid)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_keeps_what_it_has(engine: docker.DockerClient, case: Case, number: signal.Signals) -> None:
    command = case.start(*JAX, case.reports)
    case.until(command, RoundDone, 1)  # of turns several may be of one arm, where the machine is not calm
    command.send(number)
    one_clear_sentence(command.wait(), "Interrupted; everything measured so far is kept.", "Go on with --resume")
    one = case.record()
    assert one.finished is None
    assert one.blocks[0].generations[0].rounds
    assert (case.place / REPORT).exists()
    assert none_left(engine, command.pid)
    assert not list(case.temporary.iterdir())


def test_a_worker_killed_in_the_middle(engine: docker.DockerClient, case: Case) -> None:
    command = case.start(*JAX, case.reports)
    case.until(command, TurnTaken, 1)
    victim = next(
        each for each in containers(engine, command.pid) if each.labels["levelfield.name"].startswith("jax#2/")
    )
    victim.kill()
    command.wait()
    assert "Traceback" not in command.err
    assert command.code in {0, 1}
    one = case.record()
    assert one.finished
    first, second = one.blocks[0].generations
    lost = [turn for each in first.rounds for turn in each.turns if turn.failure]
    assert [turn.arm for turn in lost] in (["jax#2"], []), "[]: it was killed between its last turn and its end"
    assert not any(turn.failure for each in second.rounds for turn in each.turns), "it is launched again"
    assert {turn.arm for turn in second.rounds[0].turns} == {"jax", "jax#2", "canary"}
    for each in first.rounds:
        assert {turn.arm for turn in each.turns if turn.window} >= {"jax", "canary"}
    assert none_left(engine, command.pid)


def test_an_engine_that_stops_answering(engine: docker.DockerClient, case: Case, cable: tuple[Cable, str]) -> None:
    command = case.start(*JAX, case.reports, DOCKER_HOST=cable[1])
    case.until(command, RoundDone, 1)
    cable[0].cut()
    one_clear_sentence(command.wait(), "The container engine stopped answering", "is kept", "--resume")
    one = case.record()
    assert one.finished is None
    assert one.blocks[0].generations[0].rounds
    assert none_left(engine, command.pid)
    again = case.run("bench", "--resume", one.id, "--reports", case.reports)
    assert again.code == 0, again.err
    complete(case.record())


def test_a_disk_that_fills_up(engine: docker.DockerClient, case: Case, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=2m", small_disk], check=True)
    case.reports = small_disk
    command = case.start(*JAX, case.reports)
    case.until(command, RoundDone, 1)
    free = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(free.f_bavail * free.f_bsize))
    command.wait()
    one_clear_sentence(command, "cannot be written: No space left on device", "--resume")
    cut = journal.fold(case.events())
    assert cut.blocks[0].generations[0].rounds
    assert none_left(engine, command.pid)
    (small_disk / "ballast").unlink()
    subprocess.run(["mount", "-o", "remount,size=8m", small_disk], check=True)
    again = case.run("bench", "--resume", cut.id, "--reports", case.reports)
    assert again.code == 0, again.err
    complete(case.record())
