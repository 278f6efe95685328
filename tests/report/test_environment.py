"""What a run was measured with: nothing is lost, and what is alike is said once."""

import shlex

import msgspec

from levelfield import analysis
from levelfield.cli.measure import bench
from levelfield.options.registry import rerun
from levelfield.record.schema import Absent, Fingerprint, Image, OwnFile, OwnSizes, OwnWeights, Run
from levelfield.report import environment, html
from tests.records_builder import make_machine, make_run
from tests.report.plain import plain

ONE = Image(
    name="torch",
    variant="cpu",
    launcher="docker",
    image_id="sha256:1",
    base="debian 1",
    lock_sha256="a",
    recipe_sha256="r",
    worker_sha256="w",
    distributions={"numpy": "2.4.6", "torch": "2.13.0"},
)
OTHER = msgspec.structs.replace(
    ONE, name="jax", image_id="sha256:2", base="debian 2", lock_sha256="b", distributions={"numpy": "2.4.6", "jax": "1"}
)


def test_what_all_have_alike_is_shared_and_the_rest_is_each_one_s_own() -> None:
    common = environment.shared([ONE, OTHER])
    assert common.facts == (("recipe SHA-256", "r"), ("worker SHA-256", "w"))
    assert common.distributions == (("numpy", "2.4.6"),)
    assert environment.own_facts(OTHER, common) == (
        ("image id", "sha256:2"),
        ("base", "debian 2"),
        ("lock SHA-256", "b"),
    )


def test_settings_are_reported_by_value_with_the_arms_that_have_it() -> None:
    found = environment.settings(make_run())
    assert ("threads", "2") in found.shared
    layout, mode = found.different
    assert (layout.name, mode.name) == ("layout", "mode")
    assert dict(layout.values) == {
        "native (MLP, BERT-base); channels_last (ResNet-50)": ("torch", "torch-compile"),
        "native": ("tensorflow", "tensorflow-xla", "jax", "onnxruntime", "openvino"),
    }


def test_libraries_are_reported_by_kind() -> None:
    found = environment.libraries(make_run(models=("mlp",), scenarios=("memory",)))
    assert found.shared == (("OpenMP", "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0"),), "a file by its path"
    (line,) = found.different
    assert ("libjax.so", ("jax",)) in line.values, "what lies inside another file by its name"


def test_absences_of_one_reason_stand_together() -> None:
    missing = Absent("the kernel shows no frequency control")
    (group,) = environment.groups(
        {"cpu": {"model": "X", "governor": missing, "boost": missing, "SMT": False, "l3 bytes": 1024}}
    )
    assert group.title == "CPU"
    assert [(line.name, plain(line.value)) for line in group.lines] == [
        ("model", "X"),
        ("SMT", "no"),
        ("l3", "1.00 KiB"),
        ("governor, boost", "not known: the kernel shows no frequency control"),
    ]


def test_many_facts_of_one_value_share_a_line_in_the_place_of_the_first() -> None:
    safe = dict.fromkeys(("mds", "l1tf", "srbds", "tsa"), "Not affected")
    lines = environment.all_lines({"retbleed": "Vulnerable", **safe, "a": 2, "b": 2})
    assert [(line.name, line.value) for line in lines] == [
        ("retbleed", "Vulnerable"),
        ("mds, l1tf, srbds, tsa", "Not affected"),
        ("a", "2"),
        ("b", "2"),
    ]


def test_of_gpus_the_one_that_was_used_is_essential() -> None:
    facts: Fingerprint = make_machine()
    facts["gpu"] = {"device 0 name": "Tesla T4", "device 1 name": "NVIDIA H100", "driver": "595.58"}
    assert {line.name: line.value for line in environment.essentials(facts, 1)}["GPU"] == "NVIDIA H100"
    assert "GPU" not in {line.name for line in environment.essentials(facts)}


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
    others = (OwnSizes("net-small-1a2b3c4d", function="small"), OwnSizes("net-large-1a2b3c4d", function="large"))
    shown = page(with_settings(own=msgspec.structs.replace(NETWORK, also=others)))
    assert "<dt>functions</dt><dd><code>build, small, large</code></dd>" in shown


def test_the_commands_take_what_they_name() -> None:
    words = shlex.split(rerun(with_settings(models=("mlp", NAME), own_weights=(WEIGHTS,))))
    parsed = bench.make_context("bench", words[2:]).params
    assert (parsed["models"], parsed["own"]) == (("mlp", "bert"), ("FOLDER",))
    words = shlex.split(rerun(with_settings(own=msgspec.structs.replace(NETWORK, file="net.py"))))
    assert bench.make_context("bench", words[2:]).params["own"] == ("net.py:build",)
