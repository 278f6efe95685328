"""What no lock may hold; and that no lock that is there holds it."""

import re
from pathlib import Path

import msgspec
import pytest

from levelfield import plan
from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, locks, wheels
from levelfield.images.catalogue import Lock, Pin
from levelfield.images.registries import Places
from levelfield.plan import arms
from tests.images.test_wheels import make_wheel


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


def test_a_python_that_no_wheel_or_base_is_for_is_refused(checkout: Path) -> None:
    with pytest.raises(LevelfieldError, match=r"cannot be resolved with onnxruntime 1\.18\.0: .*`cp313`"):
        locks.relock(["onnxruntime@1.18.0+python=3.13"])
    with pytest.raises(
        LevelfieldError, match=r"torch stands on the toolchain base, and there is none with Python 3\.13"
    ):
        locks.relock(["torch+python=3.13"])
    with pytest.raises(LevelfieldError, match=r"No base has Python 3\.12"):
        locks.relock(["jax+python=3.12"])


def test_what_cannot_be_resolved_is_a_sentence_and_the_old_lock_stays(checkout: Path) -> None:
    folder = checkout / "images" / "canary"
    before = (folder / "cpu.lock").read_bytes()
    (folder / "requirements.in").write_text("numpy==0.0.99\n")
    with pytest.raises(LevelfieldError, match=r"requirements\.in of canary cannot be resolved") as caught:
        locks.lock_image("canary")
    assert "numpy==0.0.99" in caught.value.message
    assert "://" not in caught.value.message
    assert (folder / "cpu.lock").read_bytes() == before


_EXTENDED = [pytest.param(place, marks=pytest.mark.extended) for place in ("folder", "page")]


@pytest.mark.parametrize("place", ["index", *_EXTENDED])
def test_a_cpu_build_is_found_where_the_user_says(checkout: Path, cache: Path, tmp_path: Path, place: str) -> None:
    file = make_wheel(tmp_path / "torch", file="torch-2.14.1+cpu-cp311-cp311-manylinux_2_28_x86_64.whl")
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


def test_the_exporter_alone_may_hold_a_cuda_build(checkout: Path, cache: Path) -> None:
    """It writes files, and is not measured; where no index has a CPU build, it is made all the same."""
    for name in ("exporter", "torch"):
        requirements = checkout / "images" / name / "requirements.in"
        requirements.write_text(re.sub(r"^torch==.*$", "torch==2.14.1", requirements.read_text(), flags=re.MULTILINE))
    locks.relock(["exporter"])
    lock = catalogue.lock("exporter")
    assert (lock.versions["torch"], "nvidia-cudnn-cu13" in lock.versions) == ("2.14.1", True)
    assert not list(cache.rglob("*.whl")), "gigabytes, which are fetched when an image is made"
    with pytest.raises(LevelfieldError, match="a lock for the CPU holds CUDA"):
        locks.relock(["torch"])


ALL = [
    pytest.param(name, variant, version, id=f"{name}-{catalogue.stem(variant, version)}")
    for name in catalogue.images()
    for variant, version in catalogue.lock_names(name)
]
CUDA = [
    catalogue.lock(name, variant, version)
    for name in catalogue.images()
    for variant, version in catalogue.lock_names(name)
    if variant.startswith("cu")
]


@pytest.mark.parametrize(("name", "variant", "version"), ALL)
def test_every_lock_is_of_released_wheels_and_one_cuda(name: str, variant: str, version: str | None) -> None:
    assert locks.incoherences(catalogue.lock(name, variant, version)) == ()


def _lock(*pins: tuple[str, str], variant: str = "cu13", ending: str = ".whl") -> Lock:
    made = tuple(Pin(name, version, f"{name}-{version}-py3-none-any{ending}", "0" * 64, 1, 1) for name, version in pins)
    return Lock("torch", variant, None, Path("nowhere"), "", made)


TOOLKIT = ("cuda-toolkit", "13.2.2")


@pytest.mark.parametrize(
    ("lock", "says"),
    [
        (_lock(TOOLKIT, ("torch", "2.16.0rc1")), "torch 2.16.0rc1 is a pre-release"),
        (_lock(TOOLKIT, ("jax", "0.11.0.dev20261101")), "is a pre-release"),
        (_lock(TOOLKIT, ("torch", "2.15.0"), ending=".tar.gz"), "torch 2.15.0 is no wheel"),
        (_lock(TOOLKIT, ("tensorrt-cu13-libs", "11.4")), "its hash pins nothing"),
        (_lock(TOOLKIT, ("nvidia-nvjitlink", "13.5.37")), "nvidia-nvjitlink 13.5.37 is not of CUDA 13.2.2"),
        (_lock(TOOLKIT, ("nvidia-cuda-runtime", "13.1.80")), "nvidia-cuda-runtime 13.1.80 is not of CUDA 13.2.2"),
        (_lock(TOOLKIT, ("nvidia-cudnn-cu12", "9.10.2.21")), "nvidia-cudnn-cu12 is for CUDA 12"),
        (_lock(("cuda-toolkit", "12.8.1")), "a lock of cu13 holds CUDA 12.8.1"),
        (_lock(("torch", "2.15.0")), "does not say its CUDA release"),
        (_lock(("nvidia-cuda-runtime", "13.2.86"), variant="cpu"), "a lock for the CPU holds CUDA 13.2"),
        (
            msgspec.structs.replace(_lock(("torch", "2.14.1"), variant="cpu"), version="2.14.1-cuda"),
            "its name is that of a CUDA build, and it holds no CUDA",
        ),
    ],
)
def test_a_lock_is_refused(lock: Lock, says: str) -> None:
    assert any(says in fault for fault in locks.incoherences(lock))


# ---- locking ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "variant"), [("onnxruntime", "cu13"), ("torch", "cu12")])
def test_a_cuda_variant_locks_again_without_its_gigabytes(checkout: Path, cache: Path, name: str, variant: str) -> None:
    before = catalogue.lock(name, variant)
    # Given the same versions, the same files: what an index has got since is another matter.
    with (checkout / "images" / name / f"{variant}.in").open("a") as source:
        source.writelines(f"{pin.name}=={pin.version}\n" for pin in before.pins)
    lock = locks.lock_image(name, variant)
    assert [(pin.name, pin.version, pin.file, pin.sha256) for pin in lock.pins] == [
        (pin.name, pin.version, pin.file, pin.sha256) for pin in before.pins
    ]
    assert not any(pin.sized for pin in lock.pins), "nothing was fetched"
    assert not any((cache / "wheels").glob("*.whl"))
