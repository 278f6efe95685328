"""`levelfield fleet` as people type it; that a cluster measures is in `run/test_ray.py`."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from levelfield.cli.main import cli
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.run.options import Options, options_of
from levelfield.schedule.data_sets import DataRequest
from levelfield_fleet import records
from levelfield_fleet.run.declare import words
from tests import commands
from tests.commands import one_clear_sentence
from tests.fleet.samples import fill, place, small


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two gathered folders of six nodes; in the new one a node is far slower, and another's record is damaged."""
    made = tmp_path_factory.mktemp("fleet")
    fill(made / "old", 6, 3)
    fill(made / "new", 5, 3, first=9000)
    for index in range(3):
        slow = small(f"slow-{index}", 4000 + index, slower={"onnxruntime": 1.6})
        (place(slow, made / "new" / "node-5" / f"run-{index}") / "report.html").touch()
    (made / "new" / "node-0" / "run-0" / files.NAME).write_text("damaged", encoding="utf-8")
    (made / "new" / "dead").mkdir()
    return made


def test_gather_in_all_formats(folder: Path, tmp_path: Path) -> None:
    outputs = [tmp_path / f"found.{ending}" for ending in ("md", "xml", "json", "html", "txt", "prom")]
    words = [word for path in outputs for word in ("--output", path)]
    command = commands.call("fleet", "gather", "new", *words, folder=folder)
    assert command.code == 1, command.err
    assert "node-5" in command.out.splitlines()[0]
    assert "node-0/run-0 is not a record" in command.out
    assert "Of dead no record can be read." in command.out.splitlines()[0]
    found = json.loads(outputs[2].read_text(encoding="utf-8"))
    assert found["exit_code"] == 1
    assert {node["name"]: node["verdict"] for node in found["nodes"]}["node-5"] == "slow"
    assert int(ET.parse(outputs[1]).getroot().attrib["failures"]) == 1
    assert outputs[5].read_text(encoding="utf-8").endswith("# EOF\n")
    (link,) = re.findall(r'href="(\./[^"]*node-5[^"]*)"', outputs[3].read_text(encoding="utf-8"))[:1]
    assert (tmp_path / link).resolve() == (folder / "new" / "node-5" / "run-2" / "report.html").resolve()


def test_gather_to_stdout(folder: Path) -> None:
    command = commands.call("fleet", "gather", "new", "--format", "openmetrics", folder=folder)
    assert command.code == 1
    assert 'levelfield_node_verdict{node="node-5"' in command.out
    command = commands.call("fleet", "gather", "old", "--margin", "50%", "--format", "json", folder=folder)
    assert command.code in (0, 3)
    assert json.loads(command.out)["margin"] == 0.5


def test_no_module_is_taken_from_the_current_folder(tmp_path: Path) -> None:
    """More records than `records.FEW` are read in processes that the standard library starts."""
    fill(tmp_path / "fleet", records.FEW + 1)
    (tmp_path / "multiprocessing.py").write_text("open('ran', 'w')", encoding="utf-8")
    commands.run("fleet", "gather", "fleet", folder=tmp_path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("space", ["", " "])
def test_the_same_runs_before_and_after_are_refused(space: str, tmp_path: Path) -> None:
    fill(tmp_path / "old", 3)
    for record in [*(tmp_path / "old").glob("*/run.json")]:
        there = tmp_path / "new" / record.parent.name
        there.mkdir(parents=True)
        (there / record.name).write_bytes(record.read_bytes() + space.encode())
    command = commands.call("fleet", "compare", "old", "new", folder=tmp_path)
    one_clear_sentence(command, "3 runs of the old folder are also in the new one")


def test_compare_says_where_a_roll_out_hurt(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "rollout.html"
    command = commands.call("fleet", "compare", "old", "new", "--output", page, folder=folder)
    assert command.code == 1, command.err
    assert "node-5" in command.out
    assert "node-5" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (("gather", "nowhere"), "cannot be read"),
        (("gather", "new/dead"), "holds no folder of a node"),
        (("compare", "old", "nowhere"), "cannot be read"),
    ],
)
def test_what_cannot_be_judged_is_one_sentence(folder: Path, typed: tuple[str, ...], says: str) -> None:
    one_clear_sentence(commands.call("fleet", *typed, folder=folder), says)


def options(*typed: str) -> Options:
    context = cli.commands["bench"].make_context("bench", list(typed))
    return msgspec.structs.replace(options_of(context.params), command=())


@pytest.mark.parametrize(
    "typed",
    [
        (),
        ("--profile", "smoke", "--models", "mlp,bert", "--backends", "torch,onnxruntime@1.30.0", "--control", "none"),
        (
            "--scenarios",
            "latency,training",
            "--batch",
            "1,8",
            "--threads",
            "1,2",
            "--processes",
            "1,2",
            "--variant",
            "cu13",
        ),
        ("--budget", "90s", "--precision-target", "2.5%", "--margin", "3%", "--gpu", "1", "--base", "registry"),
        ("--inject", "5%@onnxruntime#2", "--identify", "--target", "90%", "--precision", "bf16,fp32"),
        ("--scenarios", "decode", "--depths", "5,7", "--kv-cache", "growing"),
    ],
)
def test_a_node_is_given_words_that_mean_the_same(typed: tuple[str, ...]) -> None:
    asked = options("--launcher", "docker", *typed)
    assert options(*words(asked, "docker")) == asked


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (["--on", "here"], "'here' names no cluster."),
        (["--on", "local:0"], "'local:0' names no cluster."),
        (["--on", "local:17"], "'local:17' names no cluster."),
        (["--on", "127.0.0.1:99999"], "names no cluster."),
        (["--on", "127.0.0.1:1; rm -rf /"], "names no cluster."),
        (["--on", "127.0.0.1:1", "--name", "a/b"], "A fleet cannot be called 'a/b'"),
        (["--on", "127.0.0.1:1", "--resume", "none"], "There is no fleet in reports called 'none'"),
    ],
)
def test_what_is_refused_is_one_sentence(tmp_path: Path, typed: list[str], says: str) -> None:
    words_ = ("fleet", "run", "--launcher", "host", *typed)
    one_clear_sentence(commands.call(*words_, folder=tmp_path), says)
    assert not (tmp_path / "reports").exists()


def test_a_folder_of_one_s_own_is_not_sent() -> None:
    own = Options(data_sets=(DataRequest("imagenet", Path()),))
    with pytest.raises(LevelfieldError, match="A file or folder of your own is not sent to nodes"):
        words(own, "docker")


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1"])
def test_a_cluster_that_is_not_there_is_said_at_once(tmp_path: Path, address: str) -> None:
    pytest.importorskip("ray")
    command = commands.call("fleet", "run", "--launcher", "host", "--on", address, folder=tmp_path)
    one_clear_sentence(command, f"Nobody listens at {address}")
    assert not (tmp_path / "reports").exists()


def test_without_ray_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "ray.py").write_text("raise ImportError('no ray here')\n", encoding="utf-8")
    command = commands.run(
        "fleet", "run", "--launcher", "host", "--on", "127.0.0.1:1",
        folder=tmp_path, environment={"PYTHONPATH": f"{tmp_path}:{commands.IMPORTS}"},
    )  # fmt: skip
    one_clear_sentence(
        command, "fleet run needs Ray, which is not installed here.", "pip install './plugins/fleet[ray]'"
    )
