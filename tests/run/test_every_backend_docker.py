"""The product itself: every backend on every default model, in containers and in environments, with its page."""

import subprocess
from pathlib import Path

import pytest

from levelfield import analysis, plan
from levelfield.record.schema import Run
from tests.benches import once
from tests.browsers import SWITCHES, find


def check(run: Run, models: tuple[str, ...], backends: tuple[str, ...]) -> None:
    for block in run.blocks:
        assert {arm.backend for arm in block.arms} == set(backends)
        for generation in block.generations:
            assert generation.complete
            assert len(generation.launches) == len(block.arms) + 1  # the canary
            for launch in generation.launches:
                assert launch.failure is None, launch
                assert launch.parity is not None
                assert launch.parity.equal, launch.parity
                assert isinstance(launch.parity.relative_error, float)
                assert launch.parity.relative_error <= 1e-5
            assert all(turn.window is not None for each in generation.rounds for turn in each.turns)
    assert {block.case.model for block in run.blocks} == set(models)
    assert isinstance(run.supervisor_window_share, float)
    assert run.supervisor_window_share < 0.01
    status = analysis.analyse(run).status
    assert not status.failed
    assert not status.absent


@pytest.mark.docker
@pytest.mark.browser
@pytest.mark.parametrize(
    "models", [("mlp",), pytest.param(plan.default_models(), marks=pytest.mark.extended)], ids="+".join
)
def test_everything_in_containers(tmp_path: Path, models: tuple[str, ...]) -> None:
    chosen = plan.Selection(profile="smoke", variant="auto", models=models)
    run, page, out, code = once(chosen, tmp_path / "reports", "docker")
    assert code == 0, out
    check(run, models, plan.names_of_backends())
    images = {image.name: image for image in run.images}
    for name in plan.all_images():
        if name != plan.EXPORTER:
            assert images[name].layers
            assert images[name].lock_sha256
            assert images[name].distributions["numpy"]
    libraries = {
        launch.arm: {library.kind for library in launch.libraries}
        for block in run.blocks
        for generation in block.generations
        for launch in generation.launches
    }
    assert all(libraries[name] for name in plan.names_of_backends())
    picture = tmp_path / "page.png"
    chromium = find("chromium", "chromium-browser", "google-chrome")
    options = [f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1280,2000", f"--screenshot={picture}"]
    subprocess.run([chromium, *SWITCHES, *options, page.as_uri()], check=True, capture_output=True, timeout=120)
    assert picture.stat().st_size > 50_000  # a blank page of that size is a few kilobytes
