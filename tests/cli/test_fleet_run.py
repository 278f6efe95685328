"""`levelfield fleet run` as people type it, without a cluster."""

from pathlib import Path

import msgspec
import pytest

from levelfield.cli.main import cli
from levelfield.cli.measuring import options_of
from levelfield.errors import LevelfieldError
from levelfield.fleet.run import words
from levelfield.run.options import Options
from levelfield.schedule.data_sets import DataRequest
from tests import commands
from tests.commands import one_clear_sentence


def options(*typed: str) -> Options:
    """What `levelfield bench` makes of these words."""
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
    assert options(*words.of(asked, "docker")) == asked


def test_the_launcher_is_named_on_every_node() -> None:
    assert options(*words.of(options(), "venv")).launcher == "venv"


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (["--on", "here"], "'here' names no cluster."),
        (["--on", "local:0"], "'local:0' names no cluster."),
        (["--on", "local:17"], "'local:17' names no cluster."),
        (["--on", "127.0.0.1:99999"], "names no cluster."),
        (["--on", "127.0.0.1:1; rm -rf /"], "names no cluster."),
        (["--on", "127.0.0.1:1", "--name", "a/b"], "A fleet cannot be called 'a/b'"),
        (["--on", "127.0.0.1:1", "--resume", "none"], "There is no fleet called 'none'"),
    ],
)
def test_what_is_refused_is_one_sentence(tmp_path: Path, typed: list[str], says: str) -> None:
    words_ = ("fleet", "run", "--launcher", "host", *typed)
    one_clear_sentence(commands.call(*words_, folder=tmp_path), says)
    assert not (tmp_path / "reports").exists()


def test_a_folder_of_one_s_own_is_not_sent() -> None:
    own = Options(data_sets=(DataRequest("imagenet", Path()),))
    with pytest.raises(LevelfieldError, match="A file or folder of your own is not sent to nodes"):
        words.of(own, "docker")


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
    one_clear_sentence(command, "fleet run needs Ray, which is not installed here.", "pip install 'levelfield[fleet]'")
