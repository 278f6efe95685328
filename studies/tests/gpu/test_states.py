"""The record of a study without a GPU: read and analysed anew."""

from pathlib import Path

from click.testing import CliRunner

from studies import commands
from studies.gpu.calm import Case
from studies.gpu.states import States, main
from studies.tests.gpu.test_calm import taken


def test_a_record_is_analysed_anew(tmp_path: Path) -> None:
    path = tmp_path / "states.json"
    cases = (Case("mlp", tuple(taken())),)
    commands.write(States(schema=1, started="", tool_version="", machine={}, cases=cases), path)
    result = CliRunner().invoke(main, ["--analyse", str(path)])
    assert result.exit_code == 0, result.output
    assert "between windows" in path.with_suffix(".md").read_text()
