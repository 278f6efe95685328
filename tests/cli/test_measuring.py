"""What the options of commands that measure become."""

from pathlib import Path

import click
import pytest

from levelfield.cli.measure import ab, bench
from levelfield.errors import LevelfieldError
from levelfield.options import OPTIONS
from levelfield.plan import Selection
from levelfield.prepare.evaluation.tasks import DataRequest
from levelfield.run.options import Options, Own, options_of, own_of


@pytest.mark.parametrize(
    ("command", "others"),
    [
        (bench, {"inputs", "data", "loadgen", "as_json"}),
        (ab, {"inputs", "a", "b", "max_slowdown", "bisect", "why", "output", "as_json"}),
    ],
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
    with pytest.raises(LevelfieldError, match="--input is about an ONNX file of your own"):
        options_of(bench.make_context("bench", ["--input", "sequence=128"]).params)


def test_a_data_set_chooses_what_is_measured() -> None:
    words = ["--models", "bert,mlp", "--data", "squad:7=/x/dev.json"]
    made = options_of(bench.make_context("bench", words).params)
    assert made.selection.models == ("bert-squad", "mlp")
    assert made.data_sets == (DataRequest("squad", Path("/x/dev.json"), 7),)
    words = ["--models", "mlp", "--data", "imagenet=/y"]
    with pytest.raises(LevelfieldError, match="None of mlp answers ImageNet"):
        options_of(bench.make_context("bench", words).params)


@pytest.mark.parametrize(
    ("values", "own"),
    [
        ((), Own()),
        (("x.onnx",), Own(Path("x.onnx"))),
        (("here/net.py:build",), Own(function="here/net.py:build")),
        (("net.py",), Own(function="net.py")),
        (("bert/", "."), Own(weights=(Path("bert"), Path()))),
    ],
)
def test_a_users_own_is_recognised(values: tuple[str, ...], own: Own) -> None:
    assert own_of(values) == own


@pytest.mark.parametrize("values", [("x.onnx", "x.py:build"), ("x.py:build", "."), ("x.onnx", "y.onnx")])
def test_a_run_measures_one_kind_of_what_is_the_users_own(values: tuple[str, ...]) -> None:
    with pytest.raises(LevelfieldError, match=f"--model {values[0]} and --model .* exclude each other"):
        own_of(values)


def test_words_and_values_are_each_others_inverse() -> None:
    words = [
        "--models", "mlp,bert", "--input", "n=12", "--input", "x=x.npy", "--cpus", "0-1,8", "--budget", "90s",
        "--margin", "3%", "--loadgen", "latency=50ms,test=600s", "--price", "1.2EUR/h", "--strict", "--gpu", "1",
    ]  # fmt: skip
    params = bench.make_context("bench", words).params
    named = {word for word in words if word.startswith("--")}
    again = [word for name in named for word in OPTIONS[name].words(params[OPTIONS[name].name])]
    assert sorted(again) == sorted(words)
