"""What the images of all nodes must be follows from the head's own locks."""

import pytest

from levelfield.images import catalogue
from levelfield.images.build import recipe
from levelfield.images.wheels import silent
from levelfield.record.schema import Image
from levelfield_fleet.run.images import Expected, difference, expected


def test_a_virtual_environment_is_its_lock() -> None:
    found = expected(["onnxruntime", "onnxruntime@1.30.0", "canary"], "venv", "debian", silent)
    assert found["onnxruntime cpu"] == Expected(catalogue.lock("onnxruntime").sha256)
    assert found["onnxruntime cpu@1.30.0"] == Expected(catalogue.lock("onnxruntime", version="1.30.0").sha256)
    assert len(found) == 3


def test_an_image_without_an_engine_here_is_its_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    found = expected(["canary"], "docker", "debian", silent)
    assert found == {"canary cpu": Expected(catalogue.lock("canary").sha256, recipe("canary").tag)}


def test_installed_packages_have_nothing_to_compare() -> None:
    assert difference([Image("onnxruntime", "cpu", "host")], {}) == ""
    assert difference([Image("onnxruntime", "cpu", "venv")], {}) == "onnxruntime cpu was not asked for"
