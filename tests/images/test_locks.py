import zipfile
from pathlib import Path

import pytest

from levelfield import plan
from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, locks, wheels
from levelfield.images.registries import Places
from levelfield.plan import arms


@pytest.mark.parametrize("name", ["canary", "onnxruntime"])
def test_resolving_again_gives_wheels_with_names_hashes_and_sizes(checkout: Path, name: str) -> None:
    (checkout / "images" / name / "cpu.lock").unlink()
    lock = locks.lock_image(name)
    assert lock.path == checkout / "images" / name / "cpu.lock"
    asked = [pin for pin in lock.pins if f"{pin.name}==" in (checkout / "images" / "worker.in").read_text()]
    assert len(asked) == 4
    assert all(pin.installed_bytes > pin.size_bytes > 1000 for pin in lock.pins)
    assert str(checkout) not in lock.path.read_text()


def test_frozen_requirements_give_the_committed_lock(checkout: Path) -> None:
    before = catalogue.lock("canary")
    assert locks.lock_image("canary") == before


def test_a_named_version_has_requirements_and_a_lock_of_its_own(checkout: Path) -> None:
    folder = checkout / "images" / "canary"
    (folder / "cpu@older.in").write_text("numpy==2.3.5\n")
    lock = locks.lock_image("canary", "cpu", "older")
    assert [(pin.name, pin.version) for pin in lock.pins] == [("numpy", "2.3.5")]
    assert catalogue.lock_names("canary") == (("cpu", None), ("cpu", "older"))
    assert catalogue.lock("canary", "cpu", "older") == lock
    assert catalogue.lock("canary") != lock


@pytest.mark.extended
def test_another_version_holds_everything_else(checkout: Path) -> None:
    """Another NumPy in the current lock than the newest: it is held there, in the named lock too."""
    folder = checkout / "images" / "onnxruntime"
    (checkout / "images" / "worker.in").write_text(
        (checkout / "images" / "worker.in").read_text().replace("numpy==2.4.6", "numpy==2.3.5")
    )
    current = locks.lock_image("onnxruntime")
    said: list[str] = []
    locks.relock(["onnxruntime@1.29.0"], progress=said.append)
    lock = catalogue.read(folder / "cpu@1.29.0.lock")
    assert lock.versions == {**current.versions, "onnxruntime": "1.29.0", "numpy": "2.3.5"}
    assert said[-1] == "onnxruntime cpu@1.29.0: everything but onnxruntime is as in the current lock"
    before = lock.path.read_bytes()
    locks.relock(["onnxruntime@1.29.0"])
    assert lock.path.read_bytes() == before
    assert str(checkout) not in before.decode()


def test_what_an_older_version_asks_for_moves_and_is_said(checkout: Path) -> None:
    said: list[str] = []
    locks.relock(["openvino@2025.4.1"], progress=said.append)
    current, lock = catalogue.lock("openvino"), catalogue.lock("openvino", "cpu", "2025.4.1")
    moved = {name for name in current.versions | lock.versions if current.versions.get(name) != lock.versions.get(name)}
    assert moved == {"openvino", "numpy", "packaging"}
    numpy = (current.versions["numpy"], lock.versions["numpy"])
    assert f"openvino cpu@2025.4.1: numpy could not be held at {numpy[0]}: it is {numpy[1]}" in said
    assert f"openvino cpu@2025.4.1: needs packaging {lock.versions['packaging']} as well" in said


@pytest.mark.extended
def test_another_python_holds_every_version(checkout: Path) -> None:
    path = checkout / "images" / "onnxruntime" / "cpu@py3.13.lock"
    committed = path.read_bytes()
    path.unlink()
    locks.relock(["onnxruntime+python=3.13"], progress=(told := list[str]()).append)
    assert told[-1] == "onnxruntime cpu@py3.13: everything is as in the current lock"
    assert path.read_bytes() == committed, "uv and the index give the same wheels again"


def test_a_python_that_no_wheel_or_base_is_for_is_refused(checkout: Path) -> None:
    with pytest.raises(LevelfieldError, match=r"There is no onnxruntime 1\.18\.0 for Python 3\.13"):
        locks.relock(["onnxruntime@1.18.0+python=3.13"])
    with pytest.raises(
        LevelfieldError, match=r"torch stands on the toolchain base, and there is none with Python 3\.13"
    ):
        locks.relock(["torch+python=3.13"])
    with pytest.raises(LevelfieldError, match=r"No base has Python 3\.12"):
        locks.relock(["jax+python=3.12"])


def test_a_version_that_was_never_released_brings_its_neighbours(checkout: Path) -> None:
    with pytest.raises(LevelfieldError, match=r"There is no onnxruntime 1\.30\.7 for Python 3\.11") as caught:
        locks.relock(["onnxruntime@1.30.7"])
    assert "1.30.0, 1.31.0" in caught.value.fix
    assert not (checkout / "images" / "onnxruntime" / "cpu@1.30.7.lock").exists()


def test_an_image_of_several_frameworks_has_no_versions(checkout: Path) -> None:
    for name in ("exporter@1.0", "canary@2.4.6"):
        with pytest.raises(LevelfieldError, match="has no versions"):
            locks.relock([name])


def test_what_cannot_be_resolved_is_a_sentence_and_the_old_lock_stays(checkout: Path) -> None:
    folder = checkout / "images" / "canary"
    before = (folder / "cpu.lock").read_bytes()
    (folder / "requirements.in").write_text("numpy==0.0.99\n")
    with pytest.raises(LevelfieldError, match=r"requirements\.in of canary cannot be resolved") as caught:
        locks.lock_image("canary")
    assert "numpy==0.0.99" in caught.value.message
    assert "://" not in caught.value.message
    assert (folder / "cpu.lock").read_bytes() == before


def write_wheel(folder: Path, version: str) -> Path:
    """Write a wheel of torch that holds nothing."""
    folder.mkdir()
    file = folder / f"torch-{version}-cp311-cp311-manylinux_2_28_x86_64.whl"
    inside = f"torch-{version}.dist-info"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{inside}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
        archive.writestr(f"{inside}/WHEEL", "Wheel-Version: 1.0\nTag: cp311-cp311-manylinux_2_28_x86_64\n")
        archive.writestr(f"{inside}/RECORD", "")
    return file


_EXTENDED = [pytest.param(place, marks=pytest.mark.extended) for place in ("folder", "page")]


@pytest.mark.parametrize("place", ["index", *_EXTENDED])
def test_a_cpu_build_is_found_where_the_user_says(checkout: Path, cache: Path, tmp_path: Path, place: str) -> None:
    file = write_wheel(tmp_path / "torch", "2.14.1+cpu")
    page = tmp_path / "torch" / "index.html"
    page.write_text(f'<a href="{file.as_uri()}">{file.name}</a>')
    places = {
        "folder": Places(find_links=(str(file.parent),)),
        "page": Places(find_links=(page.as_uri(),)),
        "index": Places(indexes=(tmp_path.as_uri(),)),
    }[place]
    locks.relock(["torch@2.14.1"], places=places)
    lock = catalogue.lock("torch", "cpu", "2.14.1")
    torch = next(pin for pin in lock.pins if pin.name == "torch")
    assert (torch.version, torch.file, torch.sha256) == ("2.14.1+cpu", file.name, wheels.digest(file))
    text = lock.path.read_text()
    assert str(tmp_path) not in text
    assert "://" not in text


def test_where_there_is_no_cpu_build_all_ways_to_one_are_said(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(LevelfieldError, match=r"No CPU build of torch 2\.14\.1 \(torch==2\.14\.1\+cpu\)") as caught:
        locks.relock(["torch@2.14.1"], places=Places(find_links=(str(tmp_path / "empty"),)))
    assert "://" not in caught.value.message
    for way in ("--index URL", "--find-links PLACE", "levelfield images lock torch@2.14.1-cuda."):
        assert way in caught.value.fix


def test_a_cuda_build_for_the_cpu_is_locked_under_a_name_that_says_so(checkout: Path, cache: Path) -> None:
    locks.relock(["torch@2.14.1-cuda"])
    lock = catalogue.lock("torch", "cpu", "2.14.1-cuda")
    assert lock.versions["torch"] == "2.14.1"
    assert "nvidia-cudnn-cu13" in lock.versions
    assert all(len(pin.sha256) == 64 and not pin.sized for pin in lock.pins)
    assert not list(cache.rglob("*.whl")), "gigabytes, which are fetched when an image is made"
    arm = arms.parse("torch@2.14.1-cuda")
    made = plan.make(plan.Selection(backends=(arm.id,), models=("mlp",)), available=(0, 1))
    assert {(each.id, block.case.device) for block in made.blocks for each in block.arms[:1]} == {(arm.id, "cpu")}
    assert [(warning.code, warning.about) for warning in made.warnings] == [("cuda-build", arm.id)]
