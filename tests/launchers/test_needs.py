"""Which launcher a run uses, and why."""

import pytest

from levelfield.errors import LevelfieldError
from levelfield.launchers.needs import choose, launchers_by_name


@pytest.fixture
def _no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nobody/is/here.sock")


@pytest.mark.parametrize("name", ["venv", "host"])
def test_a_launcher_by_name(name: str) -> None:
    launcher, reason = choose(name, base="debian")
    assert launcher.kind == name
    assert not reason, "it was the user's own choice"
    assert launcher.sweep() == 0


@pytest.mark.usefixtures("_no_engine")
def test_without_an_engine_environments_take_its_place_and_it_says_so() -> None:
    launcher, reason = choose(None, base="debian")
    assert launcher.kind == "venv"
    assert reason.startswith("No container engine answers")


@pytest.mark.usefixtures("_no_engine")
def test_an_engine_that_was_asked_for_is_needed() -> None:
    with pytest.raises(LevelfieldError, match="No container engine answers") as caught:
        choose("docker", base="debian")
    assert "--launcher venv" in caught.value.fix


@pytest.mark.usefixtures("_no_engine")
def test_arms_that_name_the_runs_own_launcher_share_it() -> None:
    own, _ = choose("venv", base="debian")
    found = launchers_by_name(["venv", "", "host", "venv"], own, base="debian")
    assert {name: launcher.kind for name, launcher in found.items()} == {"venv": "venv", "host": "host"}
    assert found["venv"] is own
    with pytest.raises(LevelfieldError, match="No container engine answers"):
        launchers_by_name(["docker"], own, base="debian")


@pytest.mark.docker
def test_an_engine_that_answers_is_used() -> None:
    for name in ("docker", None):
        launcher, reason = choose(name, base="debian")
        assert launcher.kind == "docker"
        assert not reason
