"""Which launcher a run uses, and why."""

import pytest

from levelfield.errors import LevelfieldError
from levelfield.launchers.needs import choose


@pytest.fixture
def _no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nobody/is/here.sock")


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
