"""What making images will cost, where versions stand among them."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import MagicMock

import docker
import pytest
from docker.errors import ImageNotFound
from packaging.utils import canonicalize_name

from levelfield.images import catalogue, debian, engine, worker_code
from levelfield.images.build import build, estimate, recipe
from levelfield.record.schema import Image

LIST = """
import json, os, subprocess, sys
from importlib.metadata import distributions
packages = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\\n"], capture_output=True, text=True)
print(json.dumps({"found": sorted((d.name.lower(), d.version) for d in distributions()),
                  "python": "%d.%d" % sys.version_info[:2],
                  "packages": packages.stdout.split("\\n")[:-1], "uid": os.getuid(),
                  "networks": os.listdir("/sys/class/net")}))
"""


def _run(client: docker.DockerClient, image: str, code: str) -> bytes:
    output = client.containers.run(
        image,
        ["-P", "-c", code],
        entrypoint="/opt/levelfield/env/bin/python",
        network_mode="none",
        read_only=True,
        cap_drop=["ALL"],
        remove=True,
    )
    assert isinstance(output, bytes)
    return output


@pytest.mark.docker
@pytest.mark.parametrize(
    ("name", "version", "base"), [("canary", None, "slim"), ("onnxruntime", None, "slim"), ("jax", None, "slim-trixie")]
)
def test_an_image_holds_what_its_locks_say_and_nothing_else(
    client: docker.DockerClient, name: str, version: str | None, base: str
) -> None:
    inside = json.loads(_run(client, build(name, version=version).tag, LIST))
    lock = catalogue.lock(name, version=version)
    assert inside["python"] == lock.python
    found = sorted((canonicalize_name(pin), version) for pin, version in inside["found"])
    assert found == sorted((canonicalize_name(pin.name), pin.version) for pin in lock.pins)
    locked = debian.lock_of(base).packages_of(base)
    assert inside["packages"] == [f"{package.name} {package.version}" for package in locked]
    assert (inside["uid"], inside["networks"]) == (65534, ["lo"])


@pytest.mark.docker
def test_the_worker_inside_is_the_one_out_here(client: docker.DockerClient, canary: Image) -> None:
    digest = """
import hashlib, pathlib
root = pathlib.Path("/opt/levelfield/worker")
whole = hashlib.sha256()
for path in sorted((p for p in root.rglob("*") if p.is_file()), key=lambda p: p.relative_to(root).as_posix()):
    whole.update(f"{path.relative_to(root)}\\n{hashlib.sha256(path.read_bytes()).hexdigest()}\\n".encode())
print(whole.hexdigest())
"""
    assert _run(client, canary.tag, digest).decode().strip() == worker_code.digest() == canary.worker_sha256


@pytest.mark.docker
def test_nothing_is_built_or_fetched_the_second_time(
    canary: Image, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    steps: list[str] = []
    assert build("canary", progress=steps.append) == canary
    assert steps == []
    assert not (cache / "wheels").exists() or not any((cache / "wheels").iterdir())
    assert estimate(["canary"]).sentence() == "Everything needed is built already."


def test_containerds_store_takes_twice_the_disk(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = MagicMock()
    client.images.get.side_effect = ImageNotFound("none")
    monkeypatch.setattr(engine, "connect", lambda: nullcontext(client))
    costs = []
    for status in (["Backing Filesystem", "extfs"], ["driver-type", "io.containerd.snapshotter.v1"]):
        client.info.return_value = {"DriverStatus": [status]}
        costs.append(estimate(["canary", "jax"]))
    classic, twice = (cost.disk_bytes - cost.download_bytes for cost in costs)
    assert classic > 10**8
    assert twice == pytest.approx(2 * classic, abs=2)


@pytest.mark.docker
def test_a_build_with_no_cache_gives_the_same_image_again(client: docker.DockerClient, canary: Image) -> None:
    assert build("canary", use_cache=False) == canary
    there = client.images.get(canary.tag)
    # The classic store and podman name an image by its configuration, containerd's by its manifest.
    assert there.id == canary.image_id or "containerd" in str(client.info().get("DriverStatus"))
    assert canary.size_bytes == int(there.labels[engine.SIZE])
    assert 0.8 < canary.size_bytes / there.attrs["Size"] < 1.25


Change = Callable[[Path], None]


def _append(path: str, text: str = "\n# changed\n") -> Change:
    def change(checkout: Path) -> None:
        with (checkout / path).open("a") as file:
            file.write(text)

    return change


def _replace(path: str, old: str, new: str) -> Change:
    def change(checkout: Path) -> None:
        text = (checkout / path).read_text()
        assert old in text
        (checkout / path).write_text(text.replace(old, new, 1))

    return change


ENVIRONMENT, WORKER, NOTHING = (True, True), (False, True), (False, False)
"""Whether the tags of the environment and of the whole image change."""


@pytest.mark.parametrize(
    ("change", "changes"),
    [
        (_append("images/canary/cpu.lock"), ENVIRONMENT),
        (_append("images/environment.sh"), ENVIRONMENT),
        (_replace("images/base.lock", 'name = "bash", version = "', 'name = "bash", version = "9'), ENVIRONMENT),
        (_append("images/base.sh"), ENVIRONMENT),
        (_append("images/worker.toml"), WORKER),
        (_append("suite/levelfield/worker/messages.py"), WORKER),
        (_append("suite/levelfield/zoo/__init__.py"), WORKER),
        (_append("suite/levelfield/backends/new.py"), WORKER),
        (_append("suite/levelfield/report/style.css", "a { color: red }"), NOTHING),
        (_append("suite/levelfield/images/build.py"), NOTHING),
        (_append("suite/levelfield/worker/messages.pyc", "x"), NOTHING),
        (_append("images/torch/cpu.lock"), NOTHING),
        (_replace("images/base.lock", 'name = "g++", version = "', 'name = "g++", version = "9'), NOTHING),
        (_append("images/canary/requirements.in"), NOTHING),
        (_append("images/base/slim.packages", "g++\n"), NOTHING),
    ],
)
def test_a_tag_changes_with_what_an_image_is_made_of_alone(
    checkout: Path, change: Change, changes: tuple[bool, bool]
) -> None:
    (checkout / "suite" / "levelfield" / "report").mkdir(exist_ok=True)
    made = recipe("canary")
    environment, whole = made.environment_tag, made.tag  # they read their files when they are asked for
    change(checkout)
    made = recipe("canary")
    assert (made.environment_tag != environment, made.tag != whole) == changes
