"""What all images have alike is said once, and nothing else is lost."""

import msgspec

from levelfield.analysis import analyse
from levelfield.record.schema import Artifact, Image
from levelfield.report import html, shared_images
from tests.records_builder import make_run

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
    common = shared_images.shared([ONE, OTHER])
    assert common.facts == (("recipe SHA-256", "r"), ("worker SHA-256", "w"))
    assert common.distributions == (("numpy", "2.4.6"),)
    assert shared_images.own_facts(OTHER, common) == (
        ("image id", "sha256:2"),
        ("base", "debian 2"),
        ("lock SHA-256", "b"),
    )


def test_one_image_keeps_all_that_is_known_of_it() -> None:
    common = shared_images.shared([ONE])
    assert common == shared_images.Shared()
    assert [value for _, value in shared_images.own_facts(ONE, common)] == ["sha256:1", "debian 1", "a", "r", "w"]


def test_makers_are_named_once_only_where_they_are_the_same() -> None:
    weights, export = Artifact("weights", "1", 1), Artifact("export", "2", 1, {"onnx": "1"})
    assert shared_images.made_by([weights, export, export]) == {"onnx": "1"}
    assert shared_images.made_by([export, msgspec.structs.replace(export, made_by={"onnx": "2"})]) == {}
    assert shared_images.made_by([weights]) == {}


def test_the_page_has_every_fact_of_every_image() -> None:
    run = msgspec.structs.replace(make_run(models=("mlp",), scenarios=("memory",), generations=1), images=(ONE, OTHER))
    page = html.render(run, analyse(run))
    for image in run.images:
        for text in (image.image_id, image.base, image.lock_sha256, image.recipe_sha256, image.worker_sha256):
            assert f"<code>{text}</code>" in page
        for name, version in image.distributions.items():
            assert f"<span>{name} {version}</span>" in page
    assert page.count("<span>numpy 2.4.6</span>") == 1
