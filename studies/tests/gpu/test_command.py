"""Where there is no GPU every part says so, in one sentence, and writes nothing."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from studies.gpu.command import main
from suite.machine.gpu import problem

NO_GPU = problem() is not None


@pytest.mark.skipif(not NO_GPU, reason="there is a GPU here")
@pytest.mark.parametrize("part", ["sensors", "faults", "turns"])
def test_without_a_gpu(part: str, tmp_path: Path) -> None:
    out = tmp_path / "record.json"
    result = CliRunner().invoke(main, [part, "--out", str(out)])
    assert result.exit_code == 2
    assert "GPU" in result.output or "NVIDIA" in result.output
    assert "Traceback" not in result.output
    assert not out.exists()


def test_every_part_has_a_name_and_says_what_it_does() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    for part in ("answers", "ceilings", "faults", "parities", "sensors", "turns"):
        assert part in result.output
