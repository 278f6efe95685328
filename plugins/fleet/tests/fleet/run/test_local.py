"""The environment of Ray's own nodes; that they run is in `test_ray`."""

import os

import pytest
from levelfield_fleet.run.local import surroundings


def test_variables_are_set_and_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEVELFIELD_TEST_KEPT", "before")
    monkeypatch.delenv("LEVELFIELD_TEST_NEW", raising=False)
    given = {"LEVELFIELD_TEST_KEPT": "1", "LEVELFIELD_TEST_NEW": "2"}
    with surroundings(given):
        assert {name: os.environ[name] for name in given} == given
    assert os.environ["LEVELFIELD_TEST_KEPT"] == "before"
    assert "LEVELFIELD_TEST_NEW" not in os.environ
