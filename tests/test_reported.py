"""What verifies the runs of all other tests finds what is wrong with one."""

from pathlib import Path

import pytest

from levelfield.record.page import NAME
from tests.reported import check_reports
from tests.share.evidence import leave, small


def test_a_run_that_does_not_verify_fails_the_test_that_made_it(tmp_path: Path) -> None:
    folder = leave(small(), tmp_path / "reports" / "whole")
    output = f"a table\n\nReport: reports/whole/{NAME}\n"
    check_reports(output, tmp_path)
    page = (folder / NAME).read_text(encoding="utf-8")
    (folder / NAME).write_text(page.replace("<td>", "<td>1", 1), encoding="utf-8")
    with pytest.raises(AssertionError, match="page: It is not the page that follows"):
        check_reports(output, tmp_path)
