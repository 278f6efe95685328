"""A user's own folder of images, in real containers, from the command to the report."""

from pathlib import Path

import docker
import numpy as np
import pytest

from suite import analysis
from suite.prepare.own_images.listing import list_images
from suite.record import files
from suite.run.results import REPORT
from tests.commands import one_clear_sentence, run
from tests.engines import none_left
from tests.prepare.own_images import pictures

pytestmark = pytest.mark.docker


def test_two_backends_train_on_a_folder_of_images(engine: docker.DockerClient, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    reports, folder = tmp_path / "reports", pictures.two_sided(tmp_path / "Zoë's <b>images")
    command = run(
        "bench", "--profile", "smoke", "--models", "mlp", "--backends", "torch,jax", "--scenarios", "convergence",
        "--variant", "cpu", "--threads", "1", "--data", folder, "--target", "80%", "--reports", reports,
        folder=tmp_path,
    )  # fmt: skip
    assert command.code == 0, command.err + command.out
    one = files.read(next(reports.glob("*/run.json")).parent)
    own = one.settings.own_images
    assert own is not None
    assert (own.classes, own.trained, own.tested, one.settings.target) == (3, 72, 24, 0.8)
    assert one.artifacts[-1].name == "own images"
    assert "Zoë" not in (reports / one.id / files.NAME).read_text(encoding="utf-8")
    (block,) = one.blocks
    for generation in block.generations:
        assert {launch.arm for launch in generation.launches} == {"torch", "jax"}
        for launch in generation.launches:
            assert launch.failure is None
            assert launch.parity is not None
            assert launch.parity.equal, launch.parity.reason
            assert launch.convergence is not None
            assert launch.convergence.network == "digits_mlp@3x16x16-3"
            assert max(point.accuracy for point in launch.convergence.points) >= 0.8
    (found,) = analysis.analyse(one).convergence
    assert all(row.seeds_reached == 2 for row in found.rows)
    assert f"on own images {own.sha256[:12]}" in command.out
    assert own.sha256 in (reports / one.id / REPORT).read_text(encoding="utf-8")
    assert none_left(engine, command.pid)

    journal = reports / one.id / files.JOURNAL
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if '"type":"generation"' in line)
    journal.write_text("".join(lines[: last + 1]), encoding="utf-8")  # as if it was killed there
    resume = ("bench", "--resume", one.id, "--reports", reports)
    one_clear_sentence(run(*resume, folder=tmp_path), "trained on images of the user's own", "--data")
    first = list_images(folder, 64).entries[0].name
    np.save((folder / first).with_suffix(".npy"), np.zeros((20, 20), np.uint8))
    changed = run(*resume, "--data", folder, folder=tmp_path)
    assert changed.code == 2
    assert f"and was {own.sha256[:12]}" in changed.err
    assert "Traceback" not in changed.err
