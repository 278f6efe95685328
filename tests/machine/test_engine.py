"""The container engine's facts."""

import hashlib
import json
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.launchers.needs import choose
from levelfield.machine import engine
from levelfield.record.schema import Absent


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


def test_without_configuration_the_default_socket_is_taken(configuration: Path) -> None:
    assert engine.address() == engine.Address("unix:///var/run/docker.sock", "the default socket")
    assert not configuration.exists()


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


def test_a_missing_context_is_never_the_default_engine(configuration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration.mkdir()
    (configuration / "config.json").write_text('{"currentContext": "gone"}')
    with pytest.raises(LevelfieldError, match=r"config.json names the context gone, which docker does not have"):
        choose(None, base="debian")
    monkeypatch.setenv("DOCKER_CONTEXT", "lost")
    with pytest.raises(LevelfieldError, match=r"DOCKER_CONTEXT names the context lost") as caught:
        choose(None, base="debian")
    assert "docker context ls" in caught.value.fix
    assert engine.engine() == {"engine": Absent(caught.value.message)}


def test_a_damaged_configuration_is_said(configuration: Path) -> None:
    configuration.mkdir()
    (configuration / "config.json").write_text("{")
    with pytest.raises(LevelfieldError, match=r"config\.json cannot be read"):
        engine.address()


def test_ssh_says_what_to_install(configuration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_context(configuration, "far", Host="ssh://nobody@127.0.0.1")
    monkeypatch.setenv("DOCKER_CONTEXT", "far")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(LevelfieldError, match=r"\(context far\) is to be reached by SSH") as caught:
        engine.connect(1)
    assert "pip install paramiko" in caught.value.fix


def test_certificates_that_are_missing_are_said(configuration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    with pytest.raises(LevelfieldError, match=r"docker has no ca\.pem"):
        engine.address()
    assert not configuration.exists()


def test_no_engine_is_absent_with_the_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    answer = engine.engine()["engine"]
    assert isinstance(answer, Absent)
    assert "No such file or directory" in answer.reason


@pytest.mark.docker
def test_the_engine_that_answers_is_described() -> None:
    facts = engine.engine()
    assert isinstance(facts["version"], str)
    assert facts["storage driver"]
    assert platform.node() not in facts.values()
