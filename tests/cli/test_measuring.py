"""What the options of commands that measure become."""

import click
import pytest

from levelfield.cli.ab import ab
from levelfield.cli.main import bench
from levelfield.cli.measuring import options_of
from levelfield.errors import LevelfieldError
from levelfield.plan import Selection
from levelfield.run.options import Options

OF_A_FILE = {"dims", "values", "module", "weights"}
OF_DATA = {"data", "data_items"}
OF_OUTPUT = {"as_json"}
OF_AB = {"a", "b", "max_slowdown", "bisect", "why", "output"}


@pytest.mark.parametrize(
    ("command", "others"),
    [(bench, OF_A_FILE | OF_DATA | OF_OUTPUT), (ab, OF_A_FILE | OF_AB | OF_OUTPUT)],
)
def test_every_option_is_a_field_of_what_it_becomes(command: click.Command, others: set[str]) -> None:
    named = {parameter.name for parameter in command.params if parameter.name is not None}
    fields = {*Options.__struct_fields__, *Selection.__struct_fields__}
    assert named - fields == others


def test_what_is_typed_arrives() -> None:
    words = [
        "--models", "mlp", "--precision", "fp32,bf16", "--batch", "8,2", "--budget", "90s", "--margin", "3%",
        "--launcher", "host", "--target", "90%", "--seed", "5", "--inject", "5%@torch",
        "--cpus", "0-1,8",
    ]  # fmt: skip
    made = options_of(bench.make_context("bench", words).params)
    assert made.selection.models == ("mlp",)
    assert made.selection.precisions == ("fp32", "bf16")
    assert made.selection.batches == (8, 2)
    assert made.selection.cpus == (0, 1, 8)
    assert made.selection.inject == ("5%", "torch")
    assert not made.selection.locked, "what is installed runs"
    assert (made.budget_seconds, made.margin, made.seed, made.launcher) == (90.0, 0.03, 5, "host")
    assert made.target == 0.9
    assert made.command[0] == "levelfield"


def test_an_option_about_a_file_takes_a_file() -> None:
    with pytest.raises(LevelfieldError, match="--data-items is about a data set"):
        options_of(bench.make_context("bench", ["--data-items", "7"]).params)
    with pytest.raises(LevelfieldError, match="--dim is about a file of your own"):
        options_of(bench.make_context("bench", ["--dim", "sequence=128"]).params)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--model", "x.onnx", "--module", "x.py:build"], "--model and --module exclude each other"),
        (["--module", "x.py:build", "--weights", "x"], "--module and --weights exclude each other"),
        (["--model", "x.onnx", "--module", "x.py:build", "--weights", "x"], "--model and --module and --weights"),
    ],
)
def test_a_run_measures_one_kind_of_what_is_the_users_own(words: list[str], says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        options_of(bench.make_context("bench", words).params)
