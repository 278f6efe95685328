"""A report's page alone, in a folder of its own, measured again for real."""

import shutil
from pathlib import Path

import docker
import msgspec
import pytest

from suite.cli.reproduce import NAME
from suite.compare.reproduction import Reproduction
from tests.commands import one_clear_sentence, run
from tests.engines import none_left

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The HTML file of a small run, and nothing else of it."""
    folder = tmp_path_factory.mktemp("elsewhere")
    made = run(
        "bench", "--profile", "smoke", "--models", "mlp", "--backends", "onnxruntime", "--scenarios", "latency,memory",
        "--reports", folder / "reports", folder=folder,
    )  # fmt: skip
    assert made.code == 0, made.err + made.out
    (report,) = folder.glob("reports/*/report.html")
    shutil.copy(report, folder / "handed-over.html")
    shutil.rmtree(folder / "reports")
    return folder / "handed-over.html"


def test_one_file_is_enough(engine: docker.DockerClient, page: Path, tmp_path: Path) -> None:
    command = run("reproduce", page, "--reports", tmp_path / "mine", "--allowed", "90%", folder=tmp_path)
    assert command.code in (0, 3), command.err + command.out  # two launches decide little about microseconds
    (written,) = tmp_path.glob(f"mine/*/{NAME}")
    found = msgspec.json.decode(written.read_bytes(), type=Reproduction)
    assert {result.case.scenario for result in found.results} == {"latency", "memory"}
    assert all(result.ours for result in found.results)
    assert "1 of 1 answers are the same to the last bit" in found.numerics
    assert found.answer in " ".join(command.out.split())
    assert none_left(engine, command.pid)


def test_it_says_first_what_it_would_do(page: Path, tmp_path: Path) -> None:
    command = run("reproduce", page, "--dry-run", "--reports", tmp_path / "mine", folder=tmp_path)
    assert command.code == 0, command.err + command.out
    assert "It will be run again: onnxruntime on mlp, memory, latency, profile smoke" in " ".join(command.out.split())
    assert not (tmp_path / "mine").exists()


def test_a_changed_digit_is_found_before_anything_runs(page: Path, tmp_path: Path) -> None:
    content = page.read_text(encoding="utf-8")
    place = content.index('"data":"') + 100
    other = "A" if content[place] != "A" else "B"
    changed = tmp_path / "changed.html"
    changed.write_text(content[:place] + other + content[place + 1 :], encoding="utf-8")
    one_clear_sentence(
        run("reproduce", changed, folder=tmp_path), "The record inside the page was changed or damaged", code=1
    )
