"""What a page says of a user's own network in Python, and of weights of the user's own."""

import shlex

import msgspec

from levelfield import analysis
from levelfield.cli.measure import bench
from levelfield.options import rerun
from levelfield.record.schema import OwnFile, OwnWeights, Run
from levelfield.report import html
from tests.records_builder import make_run

HOSTILE = "<script>alert(1)</script>"
NAME = "bert-1a2b3c4d+layers=2"
WEIGHTS = OwnWeights(
    model=NAME,
    family="bert",
    sha256="1a2b3c4d" * 8,
    files={"config.json": "f" * 64, HOSTILE: "e" * 64},
    size_bytes=1234,
    dtypes=("BF16",),
    config={"num_hidden_layers": "2", "hidden_act": HOSTILE},
)
NETWORK = OwnFile(
    model="net-build-1a2b3c4d",
    file=HOSTILE,
    sha256="1a2b3c4d" * 8,
    size_bytes=12,
    inputs=(),
    outputs=(),
    precision="fp32",
    opset=0,
    function="build",
    framework="torch",
)


def page(run: Run) -> str:
    return html.render(run, analysis.analyse(run))


def with_settings(**changed: object) -> Run:
    run = make_run(models=("bert",), backends=("torch", "jax"), scenarios=("latency",))
    return msgspec.structs.replace(run, settings=msgspec.structs.replace(run.settings, **changed))


def test_weights_of_ones_own_are_described() -> None:
    shown = page(with_settings(own_weights=(WEIGHTS,)))
    for text in ("Weights of BERT 1a2b3c4d", NAME, WEIGHTS.sha256, "BF16", "num_hidden_layers 2"):
        assert text in shown, text
    assert HOSTILE not in shown


def test_a_network_in_python_is_described() -> None:
    shown = page(with_settings(own=NETWORK))
    for text in ("those of the first arm", "<code>build</code>", "written for", NETWORK.sha256):
        assert text in shown, text
    assert "plain kernels" not in shown
    assert "Inputs of the file" not in shown
    assert HOSTILE not in shown


def test_the_commands_take_what_they_name() -> None:
    words = shlex.split(rerun(with_settings(models=("mlp", NAME), own_weights=(WEIGHTS,))))
    parsed = bench.make_context("bench", words[2:]).params
    assert parsed["models"] == ("mlp", "bert")
    assert parsed["own"] == ("FOLDER",)
    words = shlex.split(rerun(with_settings(own=msgspec.structs.replace(NETWORK, file="net.py"))))
    assert bench.make_context("bench", words[2:]).params["own"] == ("net.py:build",)
