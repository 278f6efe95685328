"""The tables of the upgrade trial as Markdown."""

from pathlib import Path

import pytest

from studies.record import read
from studies.upgrades.record import Record, findings
from studies.upgrades.show import markdown
from tests.commands import ROOT

RECORDS = sorted((ROOT / "reports" / "trials").glob("upgrades-*.json"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_committed_tables_follow_from_the_committed_trials(path: Path) -> None:
    record = read(path, Record)
    assert findings(record.trials) == record.findings
    assert markdown(record) == path.with_suffix(".md").read_text(encoding="utf-8")
