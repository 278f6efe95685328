"""What tests share: a real container engine where one is expected, and a small disk that fills up."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import docker
import pytest
from hypothesis import HealthCheck, settings

from levelfield.errors import LevelfieldError
from levelfield.launchers.docker import connect
from tests.engines import PrivateEngine

if TYPE_CHECKING:
    from selenium import webdriver

ENGINE_EXPECTED = "LEVELFIELD_EXPECT_ENGINE"
SMOKE = "test_smoke.py"
"""The one file whose tests use engine and browser by default."""

# How long an example took says more of the machine, and of the tests beside this one, than of what is tested.
settings.register_profile("anywhere", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("anywhere")


def pytest_configure() -> None:
    """Hear signals: what a shell starts in the background ignores SIGINT, and by nohup SIGHUP, in all children."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)  # before the marks decide what runs
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave engine and browser to `test_smoke.py` by default; and begin with files that take containers.

    xdist hands files out in this order: short ones at the end fill up what is left.
    """
    _sample(items)
    for item in items:
        if item.path.name != SMOKE and any(map(item.get_closest_marker, ("docker", "browser", "alone"))):
            item.add_marker(pytest.mark.extended)
    containers = {item.path for item in items if item.get_closest_marker("docker")}
    items.sort(key=lambda item: item.path not in containers)


def _sample(items: list[pytest.Item]) -> None:
    """Move all but so many cases of a sampled test to the extended ones: those that stay are spread over the list."""
    found: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            found.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in found.values():
        marker = cases[0].get_closest_marker("sampled")
        assert marker is not None
        (kept,) = marker.args
        staying = {round(place * (len(cases) - 1) / max(kept - 1, 1)) for place in range(kept)}
        for place, case in enumerate(cases):
            if place not in staying:
                case.add_marker(pytest.mark.extended)


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.DockerClient]:
    """A client of the container engine. Where one is expected, its absence is a failure, not a skip."""
    try:
        client = connect()
    except LevelfieldError as error:
        if os.environ.get(ENGINE_EXPECTED) == "1":
            pytest.fail(f"{ENGINE_EXPECTED}=1, and {error.message}")
        pytest.skip(error.message)
    yield client
    client.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[webdriver.Chrome]":
    from tests import browsers  # where frameworks are tested, there is no selenium

    with browsers.opened(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="session", autouse=True)
def _commands_of_plugins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let tests, and commands that they start, find the commands of this tree's plug-ins, installed or not."""
    from tests import commands, plugged

    folder = plugged.register(plugged.FLEET, tmp_path_factory.mktemp("plug-ins"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands, "IMPORTS", f"{commands.IMPORTS}:{folder}")
        patch.setenv("PYTHONPATH", commands.IMPORTS)
        patch.syspath_prepend(folder)
        plugged.forget()
        yield


@pytest.fixture(autouse=True)
def _engine_for_marked_tests(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("docker"):
        request.getfixturevalue("engine")


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """A folder for reports that is not there yet."""
    return tmp_path / "reports"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 64 KiB."""
    with mounted(tmp_path / "disk", "64k") as folder:
        yield folder


@pytest.fixture
def disk_of_its_own(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 1 GiB, in memory, which nobody else fills or empties."""
    with mounted(tmp_path / "disk", "1g") as folder:
        yield folder


@contextlib.contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    if os.getuid() != 0:
        pytest.skip("Mounting a disk needs root.")
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=False, capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"A disk cannot be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def private_engine() -> Iterator[PrivateEngine]:
    """An engine that may be killed."""
    one = PrivateEngine()
    yield one
    one.close()
