"""What a run needs of this machine, asked beforehand."""

from pathlib import Path

import pytest

from levelfield.images import registries
from levelfield.launchers import needs
from levelfield.machine.findings import Finding
from levelfield.plan import all_images
from tests.images.test_wheels import make_wheel


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """What is found of CPU builds of PyTorch, in a cache without any, whose public index is not known here."""
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", tmp_path.as_uri())
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    public = registries.Index("far", "https://far.invalid/cpu", ("torch",), ("cpu",))
    monkeypatch.setattr(registries, "indexes", lambda _: (public,))
    return list(needs._public_indexes(all_images(), all_images()))


def test_an_index_that_does_not_answer_is_named_with_what_runs_without_it(asked: list[Finding]) -> None:
    (found,) = asked
    assert found.state == "warn"
    assert found.message.startswith("torch 2.13.0+cpu is on far.invalid, and not to be had here: ")
    assert "the name of the package index far.invalid is not known here" in found.message
    assert found.message.endswith("It is needed for the images torch, exporter.")
    assert "--backends tensorflow,tensorflow-xla,jax; --model FILE.onnx --backends onnxruntime,openvino." in found.fix
    assert "docs/versions.md, PyTorch" in found.fix


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return make_wheel(tmp_path / "wheels", file="torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl")


def test_a_folder_of_the_users_own_does_as_well(wheel: Path, asked: list[Finding]) -> None:
    assert [(found.state, found.message) for found in asked] == [("ok", "An index has torch 2.13.0+cpu.")]
