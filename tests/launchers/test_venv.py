"""Workers as child processes of their own environments."""

from pathlib import Path

import pytest

from levelfield.launchers.worker import WorkerError


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    from levelfield.launchers.venv import start_process

    with pytest.raises(WorkerError, match="could not be started: No such file"):
        start_process([str(tmp_path / "python")], "the script", {}, tmp_path)
