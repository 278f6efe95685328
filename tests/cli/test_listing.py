"""What `levelfield list` shows."""

from pathlib import Path

import pytest

from levelfield import plan, scenarios
from levelfield.backends.info import PRECISIONS
from tests.commands import call


@pytest.mark.parametrize("columns", [80, 200])
def test_list_shows_all_there_is(tmp_path: Path, columns: int) -> None:
    command = call("list", folder=tmp_path, environment={"COLUMNS": str(columns)})
    assert command.code == 0, command.err
    assert "…" not in command.out, "nothing is cut"
    assert max(map(len, command.out.splitlines())) <= columns
    for name in (*plan.names_of_models(), *plan.names_of_backends(), *scenarios.NAMES, *PRECISIONS):
        assert name in command.out
    assert "canary" not in command.out
