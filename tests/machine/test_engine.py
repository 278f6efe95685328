"""The container engine's facts."""

import platform
from pathlib import Path

import pytest

from suite.machine import engine
from suite.record.schema import Absent


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
