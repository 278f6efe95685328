"""Records whose shape no run has."""

import pytest

from levelfield.errors import LevelfieldError
from levelfield.record import bounds
from tests.records_builder import make_run


@pytest.mark.parametrize(
    ("limit", "what"),
    [
        ("MAX_BLOCKS", "cases"),
        ("MAX_RESULTS", "results"),
        ("MAX_WINDOWS", "windows"),
        ("MAX_ROUNDS", "rounds"),
        ("MAX_ROUND_ARMS", "places"),
        ("MAX_FACTS", "facts"),
    ],
)
def test_one_more_than_a_run_may_hold_is_refused(monkeypatch: pytest.MonkeyPatch, limit: str, what: str) -> None:
    run = make_run(models=("mlp",), backends=("jax", "torch"), scenarios=("latency", "memory"), generations=2, rounds=2)
    bounds.check(run, "run.json")
    monkeypatch.setattr(bounds, limit, 1)
    with pytest.raises(LevelfieldError, match=rf"run.json holds \d+ {what}, and a run has no more than 1"):
        bounds.check(run, "run.json")
