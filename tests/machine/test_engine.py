"""The container engine's facts."""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.launchers.needs import choose
from levelfield.machine import engine


@pytest.fixture
def configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of docker's configuration, in place of the user's own."""
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    return tmp_path / "docker"


def add_context(configuration: Path, name: str, **endpoint: object) -> Path:
    """Write a context as `docker context create` does; return the folder of its certificates."""
    identity = hashlib.sha256(name.encode()).hexdigest()
    folder = configuration / "contexts" / "meta" / identity
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps({"Name": name, "Metadata": {}, "Endpoints": {"docker": endpoint}}))
    return configuration / "contexts" / "tls" / identity / "docker"


def test_the_order_is_dockers_own(configuration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_context(configuration, "rootless", Host="unix:///run/user/1000/docker.sock")
    add_context(configuration, "other", Host="unix:///other.sock")
    (configuration / "config.json").write_text('{"currentContext": "rootless"}')
    assert engine.address() == engine.Address("unix:///run/user/1000/docker.sock", "context rootless")
    monkeypatch.setenv("DOCKER_CONTEXT", "other")
    assert engine.address() == engine.Address("unix:///other.sock", "context other")
    monkeypatch.setenv("DOCKER_CONTEXT", "default")
    assert engine.address().named_by == "the default socket"
    monkeypatch.setenv("DOCKER_HOST", "unix:///third.sock")
    monkeypatch.setenv("DOCKER_CONTEXT", "other")
    assert engine.address() == engine.Address("unix:///third.sock", "DOCKER_HOST")


@pytest.mark.skipif(shutil.which("docker") is None, reason="There is no docker command.")
def test_a_context_that_docker_itself_made_is_read(configuration: Path) -> None:
    for words in (["create", "mine", "--docker", "host=tcp://127.0.0.1:4711"], ["use", "mine"]):
        subprocess.run(["docker", "context", *words], check=True, capture_output=True)
    assert engine.address() == engine.Address("tcp://127.0.0.1:4711", "context mine")
    assert configuration.is_dir()


@pytest.mark.docker
def test_what_is_published_of_an_engine_does_not_name_its_context(configuration: Path) -> None:
    there = engine.address().host
    add_context(configuration, "payroll-db.example.com", Host=there)
    (configuration / "config.json").write_text('{"currentContext": "payroll-db.example.com"}')
    with contextlib.closing(engine.connect(10)) as client:
        found = engine.described(client)
    assert found["named by"] == "a context"
    assert "payroll" not in str(found)


def test_a_missing_context_is_never_the_default_engine(configuration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration.mkdir()
    (configuration / "config.json").write_text('{"currentContext": "gone"}')
    with pytest.raises(LevelfieldError, match=r"config.json names the context gone, which docker does not have"):
        choose(None, base="debian")
    monkeypatch.setenv("DOCKER_CONTEXT", "lost")
    with pytest.raises(LevelfieldError, match=r"DOCKER_CONTEXT names the context lost") as caught:
        choose(None, base="debian")
    assert "docker context ls" in caught.value.fix
    assert "lost" not in str(engine.engine()), "the record is published"


def test_a_live_supervisor_is_not_dead() -> None:
    assert not engine.is_dead(engine.mark_of(os.getpid()))


def test_one_that_ended_is() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE)
    mark = engine.mark_of(child.pid)
    child.communicate()
    assert engine.is_dead(mark)


def test_of_another_boot_or_namespace_nothing_is_known() -> None:
    _, started, boot, namespace = engine.mark_of(os.getpid()).split(":")
    assert not engine.is_dead(f"999999999:{started}:other:{namespace}")
    assert not engine.is_dead(f"999999999:{started}:{boot}:1")
    for mark in ("", "1:1", "x", ":::", f"1::{boot}:{namespace}", f"-1:{started}:{boot}:{namespace}"):
        assert not engine.is_dead(mark)
