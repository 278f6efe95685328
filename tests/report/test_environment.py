"""What a run was measured with: nothing is lost, and what is alike is said once."""

import msgspec

from levelfield.analysis import analyse
from levelfield.record.schema import Absent, Artifact, Fingerprint, Image
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


def test_one_image_keeps_all_that_is_known_of_it() -> None:
    common = environment.shared([ONE])
    assert common == environment.Shared()
    assert [value for _, value in environment.own_facts(ONE, common)] == ["sha256:1", "debian 1", "a", "r", "w"]


def test_makers_are_named_once_only_where_they_are_the_same() -> None:
    weights, export = Artifact("weights", "1", 1), Artifact("export", "2", 1, {"onnx": "1"})
    assert environment.made_by([weights, export, export]) == {"onnx": "1"}
    assert environment.made_by([export, msgspec.structs.replace(export, made_by={"onnx": "2"})]) == {}
    assert environment.made_by([weights]) == {}


def test_the_page_has_every_fact_of_every_image() -> None:
    run = msgspec.structs.replace(make_run(models=("mlp",), scenarios=("memory",), generations=1), images=(ONE, OTHER))
    page = html.render(run, analyse(run))
    for image in run.images:
        for text in (image.image_id, image.base, image.lock_sha256, image.recipe_sha256, image.worker_sha256):
            assert f"<code>{text}</code>" in page
        for name, version in image.distributions.items():
            assert f"<span>{name} {version}</span>" in page
    assert page.count("<span>numpy 2.4.6</span>") == 1


def test_settings_are_reported_by_value_with_the_arms_that_have_it() -> None:
    found = environment.settings(make_run())
    assert ("threads", "2") in found.shared
    layout, mode = found.different
    assert (layout.name, mode.name) == ("layout", "mode")
    assert dict(layout.values) == {
        "native (MLP, BERT-base); channels_last (ResNet-50)": ("torch", "torch-compile"),
        "native": ("tensorflow", "tensorflow-xla", "jax", "onnxruntime", "openvino"),
    }


def test_a_setting_that_only_some_arms_report_is_not_shared() -> None:
    run = make_run(models=("mlp",), scenarios=("memory",), generations=1)
    generation = run.blocks[0].generations[0]
    torch = generation.launches[0]
    first = msgspec.structs.replace(torch, settings=torch.settings | {"freezing": "on"})
    generation = msgspec.structs.replace(generation, launches=(first, *generation.launches[1:]))
    block = msgspec.structs.replace(run.blocks[0], generations=(generation,))
    found = environment.settings(msgspec.structs.replace(run, blocks=(block,)))
    assert [(line.name, line.values) for line in found.partial] == [("freezing", (("on", ("torch",)),))]


def test_libraries_are_reported_by_kind() -> None:
    run = make_run(models=("mlp",), scenarios=("memory",))
    found = environment.libraries(run)
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


def test_essentials_are_what_is_there() -> None:
    found = {line.name: line.value for line in environment.essentials(make_machine())}
    assert found["processor"] == "AMD EPYC 9R45"
    assert found["kernel"] == "6.1.0-37-amd64"
    assert "GPU" not in found


def test_of_gpus_the_one_that_was_used_is_essential() -> None:
    facts: Fingerprint = make_machine()
    facts["gpu"] = {"device 0 name": "Tesla T4", "device 1 name": "NVIDIA H100", "driver": "595.58"}
    assert {line.name: line.value for line in environment.essentials(facts, 1)}["GPU"] == "NVIDIA H100"
    assert "GPU" not in {line.name for line in environment.essentials(facts)}
