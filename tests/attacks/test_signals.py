"""No signal, in no phase of a run, leaves anything or loses what was measured."""

import os
import shutil
from pathlib import Path

import pytest

from tests.attacks import signals


@pytest.mark.extended
@pytest.mark.docker
def test_every_signal_in_every_phase(tmp_path: Path) -> None:
    if os.getuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("Starting a second engine needs root and dockerd.")
    results = signals.matrix(tmp_path)
    assert [each for each in results if each.left or each.goes_on is False] == []
    assert all(each.goes_on for each in results if each.phase in ("windows", "report"))
