"""The product itself: every backend on every default model, in containers and in environments."""

from pathlib import Path

import pytest

from levelfield import analysis, plan
from levelfield.record.schema import Run
from tests.benches import once, parity_of
from tests.records_builder import launches_of


def check(run: Run, models: tuple[str, ...], backends: tuple[str, ...]) -> None:
    for block in run.blocks:
        assert {arm.backend for arm in block.arms} == set(backends)
        for generation in block.generations:
            assert generation.complete
            assert len(generation.launches) == len(block.arms) + 1  # the canary
            for launch in generation.launches:
                parity_of(launch)
            assert all(turn.window is not None for each in generation.rounds for turn in each.turns)
    assert {block.case.model for block in run.blocks} == set(models)
    assert isinstance(run.supervisor_window_share, float)
    assert run.supervisor_window_share < 0.01
    status = analysis.analyse(run).status
    assert not status.failed
    assert not status.absent


@pytest.mark.docker
@pytest.mark.parametrize(
    "models", [("mlp",), pytest.param(plan.default_models(), marks=pytest.mark.extended)], ids="+".join
)
def test_everything_in_containers(tmp_path: Path, models: tuple[str, ...]) -> None:
    chosen = plan.Selection(profile="smoke", variant="auto", models=models)
    run, _, out, code, _ = once(chosen, tmp_path / "reports", "docker")
    assert code == 0, out
    check(run, models, plan.names_of_backends())
    libraries = {each.arm: {library.kind for library in each.libraries} for each in launches_of(*run.blocks)}
    assert all(libraries[name] for name in plan.names_of_backends())
