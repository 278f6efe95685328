"""The one path that everybody takes, from images that are not there yet to a page that a stranger runs again."""

import json
import shutil
import signal
from pathlib import Path

import docker
import pytest
from selenium import webdriver

from levelfield.record import files, journal
from levelfield.record.page import NAME as REPORT
from levelfield.record.schema import Run
from tests.axe import check_page
from tests.benches import parity_of, until_a_round
from tests.commands import Command, one_clear_sentence, run
from tests.engines import none_left, nothing_runs

pytestmark = pytest.mark.docker

BACKENDS = ("onnxruntime", "openvino")
SHORT = ("--profile", "smoke", "--models", "mlp", "--scenarios", "latency")


class Case:
    """A folder of reports with one run, which was killed and taken up again."""

    def __init__(self, folder: Path, killed: Run, resumed: Command) -> None:
        self.folder = folder
        self.killed = killed
        self.resumed = resumed
        (self.report,) = (folder / "reports").glob("*/")
        self.run = files.read(self.report)


@pytest.fixture(scope="module")
def case(engine: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Build what is missing, kill a run within its first generation, and take it up again."""
    folder = tmp_path_factory.mktemp("smoke")
    folder.chmod(0o755)
    reports = folder / "reports"
    run("images", "build", "canary", *BACKENDS, folder=folder, code=0)
    command = Command("bench", *SHORT, "--backends", ",".join(BACKENDS), "--reports", reports, folder=folder)
    until_a_round(command, reports)
    command.send(signal.SIGKILL)
    command.wait()
    assert nothing_runs(engine, command.pid)
    (path,) = reports.glob("*/journal.jsonl")
    killed = journal.fold(journal.read(path))
    resumed = run("bench", "--resume", killed.id, "--reports", reports, folder=folder)
    assert none_left(engine, command.pid)
    assert none_left(engine, resumed.pid)
    return Case(folder, killed, resumed)


def test_a_killed_run_is_resumed(case: Case) -> None:
    assert case.resumed.code == 0, case.resumed.err + case.resumed.out
    assert case.killed.finished is None
    assert case.run.finished
    assert (case.run.id, len(case.run.resumed)) == (case.killed.id, 1)
    kept = case.killed.blocks[0].generations
    assert kept
    assert case.run.blocks[0].generations[: len(kept)] == kept


def test_every_launch_answers_as_the_reference(case: Case) -> None:
    (block,) = case.run.blocks
    assert {arm.backend for arm in block.arms} == set(BACKENDS)
    complete = [generation for generation in block.generations if generation.complete]
    assert len(complete) == block.planned_generations
    for generation in complete:
        assert len(generation.launches) == len(block.arms) + 1  # the canary
        for launch in generation.launches:
            parity_of(launch)
        assert all(turn.window is not None for each in generation.rounds for turn in each.turns)


def test_images_are_named_by_what_is_in_them(case: Case) -> None:
    images = {image.name: image for image in case.run.images}
    assert images.keys() == {"canary", *BACKENDS}
    for image in images.values():
        assert image.layers
        assert image.lock_sha256
        assert "numpy" in image.distributions
    assert {artifact.name.rpartition(" ")[2] for artifact in case.run.artifacts} == {"weights", "onnx"}


def test_the_report_is_made_again_to_the_byte(case: Case) -> None:
    page = (case.report / REPORT).read_bytes()
    assert str(case.folder).encode() not in page + files.content_of(case.report)
    run("report", case.report, folder=case.folder, code=0)
    assert (case.report / REPORT).read_bytes() == page


def test_a_report_verifies_and_a_changed_one_does_not(case: Case, tmp_path: Path) -> None:
    page = case.report / REPORT
    for subject in (case.report, page):
        assert run("verify", subject, folder=tmp_path).code == 0
    content = page.read_text(encoding="utf-8")
    place = content.index('"data":"') + 100
    other = "A" if content[place] != "A" else "B"
    changed = tmp_path / "changed.html"
    changed.write_text(content[:place] + other + content[place + 1 :], encoding="utf-8")
    assert run("verify", changed, folder=tmp_path).code == 1


def test_the_page_alone_is_reproduced(engine: docker.DockerClient, case: Case, tmp_path: Path) -> None:
    page = shutil.copy(case.report / REPORT, tmp_path / "page.html")
    # Two launches decide little about microseconds.
    command = run("reproduce", page, "--reports", tmp_path / "mine", "--allowed", "90%", "--json", folder=tmp_path)
    assert command.code in {0, 3}, command.err + command.out
    found = json.loads(command.out)
    assert len(found["rows"]) == len(BACKENDS)
    assert all(row["new"] for row in found["rows"])
    assert [drift["distance"] for drift in found["drifts"]] == [0.0] * len(BACKENDS)
    assert none_left(engine, command.pid)


def test_two_arms_are_compared(engine: docker.DockerClient, tmp_path: Path) -> None:
    """The same arm, slowed down to a third: found, with the exit code of a regression."""
    words = ("ab", "onnxruntime", "onnxruntime", "--inject", "200%@onnxruntime#2", "--models", "mlp")
    command = run(
        *words, "--scenarios", "latency", "--precision-target", "80%", "--budget", "2m", "--reports",
        tmp_path / "reports", folder=tmp_path, code=1,
    )  # fmt: skip
    assert "was slowed down by 200% on purpose" in " ".join(command.out.split())
    assert none_left(engine, command.pid)


def test_a_mistake_is_one_sentence(tmp_path: Path) -> None:
    one_clear_sentence(run("bench", "--backends", "onnxruntme", folder=tmp_path), "Did you mean 'onnxruntime'")


@pytest.mark.browser
def test_page_and_site_under_axe(case: Case, browser: webdriver.Chrome) -> None:
    """Light on a desk and dark on a phone: accessible, silent, and nothing is asked of anybody else."""
    site = case.folder / "site"
    run("publish", "--reports", case.folder / "reports", "--out", site, folder=case.folder, code=0)
    for page in (case.report / REPORT, site / "index.html"):
        check_page(browser, page)
