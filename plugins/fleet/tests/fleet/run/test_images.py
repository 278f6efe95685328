"""What the images of all nodes must be follows from the head's own locks."""

import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import catalogue
from levelfield.images.recipe import recipe
from levelfield.images.wheels import silent
from levelfield.record.schema import Image
from levelfield_fleet.run.images import Expected, difference, expected, name_of


def test_a_virtual_environment_is_its_lock() -> None:
    found = expected(["onnxruntime", "onnxruntime@1.30.0", "canary"], "venv", "debian", silent)
    assert found["onnxruntime cpu"] == Expected(catalogue.lock("onnxruntime").sha256)
    assert found["onnxruntime cpu@1.30.0"] == Expected(catalogue.lock("onnxruntime", version="1.30.0").sha256)
    assert len(found) == 3


def test_an_image_without_an_engine_here_is_its_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    found = expected(["canary"], "docker", "debian", silent)
    assert found == {"canary cpu": Expected(catalogue.lock("canary").sha256, recipe("canary").tag)}


def test_an_unknown_image_is_an_error() -> None:
    with pytest.raises(LevelfieldError, match="There is no image called"):
        expected(["onnxrutnime"], "venv", "debian", silent)


def test_names_are_those_of_records() -> None:
    assert name_of("torch@2.12.0+cu13") == "torch cu13@2.12.0"
    assert name_of("canary") == "canary cpu"


def test_installed_packages_have_nothing_to_compare() -> None:
    assert difference([Image("onnxruntime", "cpu", "host")], {}) == ""
    assert difference([Image("onnxruntime", "cpu", "venv")], {}) == "onnxruntime cpu was not asked for"
