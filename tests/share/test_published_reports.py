"""Every published report is what this version makes of its record: its reader has no other version at hand."""

from pathlib import Path

import pytest

from tests.commands import ROOT, call

PUBLISHED = sorted(path.parent for path in (ROOT / "reports").glob("*/report.html"))


@pytest.mark.extended
@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.name)
def test_a_published_report_verifies(folder: Path, tmp_path: Path) -> None:
    """Where a page changed, `nox -s pages` renders them anew."""
    found = call("verify", folder, folder=tmp_path)
    assert found.code == 0, found.out
