"""Profiles as JSON."""

import msgspec
import pytest

from levelfield.cli.answers.explained import profiles
from levelfield.errors import LevelfieldError
from tests.run.explained import ID, explained


def test_json_has_it_all() -> None:
    failed = {"jax/mlp": LevelfieldError("It could not.", fix="Do this.")}
    found = msgspec.to_builtins(profiles([explained()], failed, by_layer=True))
    (result,) = found["results"]
    assert result["result"] == ID
    assert result["account"]["slowdown"] == pytest.approx(1.3)
    assert [row["layer"] for row in result["operators"]] == ["stem", "head", "relu"]
    assert set(result["operators"][0]) == {"operator", "layer", "calls", "self_us", "share", "cumulative"}
    assert list(found["failed"]) == [{"result": "jax/mlp", "message": "It could not. Do this."}]
