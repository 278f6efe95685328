import re
from pathlib import Path

import pytest

from levelfield.backends import registry
from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, debian
from levelfield.paths import images_root
from levelfield.record.references import split_python

SHARED = ("msgspec", "numpy", "nvidia-ml-py", "psutil")


def test_every_image_has_a_known_base_and_every_backend_on_a_cpu_a_lock() -> None:
    for name, image in catalogue.images().items():
        assert image.base in {"slim", "toolchain"}
        assert catalogue.lock_names(name) or catalogue.unlocked(name), name
    for name in (*registry.names(), *registry.names_where_named()):
        assert catalogue.lock(registry.get(name).image).pins
    assert {"torch", "tensorflow", "jax", "onnxruntime", "openvino", "exporter", "canary"} <= set(catalogue.images())
    assert catalogue.lock_names("onnxruntime-tensorrt-rtx") == (("cu13", None),)
    # Its wheels are on an index of NVIDIA's own; what the default index has under these names pins nothing.
    assert catalogue.unlocked("tensorrt") == ("cu13",)


LOCKED = [(name, *entry) for name in catalogue.images() for entry in catalogue.lock_names(name) if entry[1] is None]


def test_workers_speak_through_the_same_versions_everywhere() -> None:
    """An image whose own requirements name one of them (an old framework's NumPy) has another of that one alone."""
    everywhere = catalogue.lock("torch").versions
    assert everywhere.keys() >= set(SHARED)
    for name, variant, _ in LOCKED:
        versions = catalogue.lock(name, variant).versions
        assert versions.keys() >= set(SHARED)
        shared = {line.partition("==")[0] for line in catalogue.of_workers(name, variant)}
        assert {each for each in SHARED if versions[each] != everywhere[each]} <= set(SHARED) - shared, name
        assert set(SHARED) - shared <= {"numpy"}, name


def test_the_lock_holds_what_the_requirements_ask_for() -> None:
    for name, variant, _ in LOCKED:
        asked = "\n".join([catalogue.source(name, variant).read_text(), *catalogue.of_workers(name, variant)])
        pinned = {f"{pin.name}=={pin.version}" for pin in catalogue.lock(name, variant).pins}
        wanted = re.findall(r"^([a-z][\w.-]*)(?:\[\S+\])?(==\S+)", asked, flags=re.MULTILINE)
        assert {"".join(each) for each in wanted} <= pinned


def test_images_name_no_address_and_no_path_of_a_machine() -> None:
    allowed = {"indexes.toml", "base.sh"}  # this one names a folder inside a container
    for path in images_root().rglob("*"):
        if path.is_file() and path.name not in allowed:
            text = path.read_text()
            assert "://" not in text, path
            assert not re.search(r"(?<![\w.])/(home|root|work|tmp|var|usr/local/lib)/", text), path


def test_a_lock_survives_writing_and_reading(tmp_path: Path) -> None:
    lock = catalogue.lock("tensorflow")
    path = tmp_path / "tensorflow" / "cpu@nightly.lock"
    path.parent.mkdir()
    catalogue.write(path, tuple(reversed(lock.pins)))
    again = catalogue.read(path)
    assert again.pins == lock.pins
    assert again.sha256 == lock.sha256
    assert (again.image, again.variant, again.version) == ("tensorflow", "cpu", "nightly")
    assert again.label == "tensorflow cpu@nightly"


@pytest.mark.parametrize(
    "line",
    ["numpy>=2", "numpy==2.4.6", "numpy==2.4.6 --hash=sha256:00", "--index-url something", "-e ."],
)
def test_a_line_that_pins_no_wheel_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "cpu.lock"
    path.write_text(catalogue.lock("canary").path.read_text() + line + "\n")
    with pytest.raises(LevelfieldError, match="pins no wheel") as caught:
        catalogue.read(path)
    assert line in caught.value.message


def test_unknown_names_bring_the_close_ones() -> None:
    with pytest.raises(LevelfieldError, match="'torch'"):
        catalogue.lock("troch")
    with pytest.raises(LevelfieldError, match="'cpu'"):
        catalogue.lock("torch", "cpus")
    with pytest.raises(LevelfieldError, match="Known: cpu"):
        catalogue.lock("torch", "cuda99")


def test_every_named_lock_is_the_framework_at_that_version() -> None:
    named = [(name, *entry) for name in catalogue.images() for entry in catalogue.lock_names(name) if entry[1]]
    assert ("onnxruntime", "cpu", "1.30.0") in named
    assert ("jax", "cpu", "0.10.2-py3.11") in named
    for name, variant, version in named:
        framework, lock = catalogue.framework(name), catalogue.lock(name, variant, version)
        assert framework is not None
        of_framework, python = split_python(version)
        own = of_framework or catalogue.current_version(name, variant)
        assert lock.versions[framework].partition("+")[0] == own
        assert lock.python == (python or catalogue.python_for(name, variant))


def test_an_image_s_locks_are_for_the_python_that_its_variant_names() -> None:
    for name, variant, _ in LOCKED:
        assert catalogue.lock(name, variant).python == catalogue.python_for(name, variant)
    assert [catalogue.python_for("jax", variant) for variant in ("cpu", "cu13")] == ["3.13", "3.11"]


def test_a_lock_for_another_python_holds_the_same_versions_in_wheels_of_that_python() -> None:
    others = [(name, None, "py3.13") for name in ("onnxruntime", "openvino", "tensorflow")]
    for name, *versions in (*others, ("jax", "0.10.2-py3.11", "0.10.2")):
        here, there = (catalogue.lock(name, version=version) for version in versions)
        assert (here.python, there.python) == ("3.11", "3.13")
        assert here.versions == there.versions, "else two things would differ in `ab`"
        assert not [pin.file for pin in there.pins if "-cp311-cp311-" in pin.file]
        assert [pin.file for pin in there.pins if "-cp313-cp313-" in pin.file]


def test_a_python_is_found_by_what_it_is_called_and_by_what_the_current_lock_is() -> None:
    for name, own, other in (("jax", "3.13", None), ("openvino", "3.11", "3.13")):
        current = catalogue.current_version(name)
        assert catalogue.lock(name, version=f"py{own}") == catalogue.lock(name)
        assert catalogue.lock(name, version=f"{current}-py{own}") == catalogue.lock(name)
        if other is not None:
            assert catalogue.lock(name, version=f"{current}-py{other}") == catalogue.lock(name, version=f"py{other}")
    assert catalogue.lock("onnxruntime", version="1.30.0-py3.11") == catalogue.lock("onnxruntime", version="1.30.0")
    assert catalogue.lock("jax", version="0.10.2-py3.13") == catalogue.lock("jax", version="0.10.2")
    assert catalogue.pythons("jax") == ("@0.10.2+python=3.11",)
    assert catalogue.versions("jax") == ("0.10.2", "0.12.0.1")
    assert not [version for version in catalogue.versions("jax") if split_python(version)[1]]


def test_a_python_without_a_lock_or_a_base_says_so() -> None:
    with pytest.raises(LevelfieldError, match=r"no lock of jax 0\.9\.9 with Python 3\.11 for cpu") as caught:
        catalogue.lock("jax", version="0.9.9-py3.11")
    assert "`levelfield images lock jax@0.9.9+python=3.11` makes one" in caught.value.fix
    assert "+python=3.11" in caught.value.fix
    with pytest.raises(LevelfieldError, match=r"No base has Python 3\.10") as caught:
        catalogue.lock("jax", version="py3.10")
    assert "3.11 and 3.13" in caught.value.fix
    with pytest.raises(LevelfieldError, match=r"no lock of canary with Python 3\.13"):
        catalogue.lock("canary", version="py3.13")


def test_a_lock_for_a_python_that_no_base_has_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "canary" / "cpu.lock"
    path.parent.mkdir()
    catalogue.write(path, catalogue.lock("canary").pins, "3.13")
    assert catalogue.read(path).python == "3.13"
    catalogue.write(path, catalogue.lock("canary").pins, "3.99")
    with pytest.raises(LevelfieldError, match=r"No base has Python 3\.99"):
        catalogue.read(path)


def test_the_version_of_the_current_lock_is_the_current_lock() -> None:
    current = catalogue.current_version("onnxruntime")
    assert current is not None
    assert catalogue.lock("onnxruntime", "cpu", current) == catalogue.lock("onnxruntime")
    assert catalogue.current_version("torch") == catalogue.lock("torch").versions["torch"].removesuffix("+cpu")
    assert current in catalogue.versions("onnxruntime"), "a newer one may be locked beside it, to be compared"
    assert catalogue.current_version("canary") is None
    assert catalogue.current_version("exporter") is None


def test_a_version_without_a_lock_says_how_to_make_one() -> None:
    with pytest.raises(LevelfieldError, match=r"no lock of onnxruntime 1\.2\.3 for cpu") as caught:
        catalogue.lock("onnxruntime", "cpu", "1.2.3")
    assert "1.30.0" in caught.value.fix
    assert "`levelfield images lock onnxruntime@1.2.3` makes one" in caught.value.fix
    with pytest.raises(LevelfieldError, match="canary has no versions"):
        catalogue.lock("canary", "cpu", "2.4.6")


def test_backends_and_images_mean_the_same_framework() -> None:
    for name in (*registry.names(), *registry.names_where_named()):
        info = registry.get(name)
        if registry.plugin_of(name) is not None:
            continue
        assert catalogue.framework(info.image) == info.distribution


def test_the_tool_locks_hash_every_line() -> None:
    for name in ("runtime", "dev", "docs", "nox"):
        text = (images_root() / "tool" / f"{name}.lock").read_text()
        requirements = re.findall(r"^[a-z0-9][\w.-]*==.*(?:\n    --hash=sha256:[0-9a-f]{64}.*)*", text, re.MULTILINE)
        assert requirements
        assert all("--hash=sha256:" in requirement for requirement in requirements)


def test_the_base_lock_names_exact_packages() -> None:
    lock = debian.read_lock()
    for base in ("slim", "toolchain"):
        assert debian.lock_of(base) == lock
        names = {package.name for package in lock.packages_of(base)}
        assert set(debian.package_names(base)) <= names
        assert "dpkg" in names  # Debian's required packages are locked too
    assert {package.name for package in lock.packages_of("slim")} < {
        package.name for package in lock.packages_of("toolchain")
    }
    newer = debian.lock_of("slim-trixie")
    assert newer.release == "trixie"
    assert set(debian.package_names("slim-trixie")) <= {package.name for package in newer.packages_of("slim-trixie")}
    for package in (*lock.packages, *newer.packages):
        assert re.fullmatch(r"[0-9a-f]{64}", package.sha256)
        assert package.path.startswith("pool/")
        assert package.architecture in {"amd64", "all"}
