"""What verifies the runs of all other tests finds what is wrong with one."""

from pathlib import Path

import msgspec
import pytest

from levelfield.record.page import NAME
from tests.reported import check_reports
from tests.share.evidence import image, leave, small


def test_a_run_that_does_not_verify_fails_the_test_that_made_it(tmp_path: Path) -> None:
    folder = leave(small(), tmp_path / "reports" / "whole")
    output = f"a table\n\nReport: reports/whole/{NAME}\n"
    check_reports(output, tmp_path)
    page = (folder / NAME).read_text(encoding="utf-8")
    (folder / NAME).write_text(page.replace("<td>", "<td>1", 1), encoding="utf-8")
    with pytest.raises(AssertionError, match="page: It is not the page that follows"):
        check_reports(output, tmp_path)


def test_a_record_of_what_its_image_does_not_hold_is_found(tmp_path: Path) -> None:
    listed = msgspec.structs.replace(image(), distributions={**image().distributions, "vendored": "1.0"})
    run = msgspec.structs.replace(small(), images=(listed,))
    leave(run, tmp_path / "more")
    with pytest.raises(AssertionError, match=r"bills of materials: .*vendored is not there there and 1\.0"):
        check_reports(f"Report: {tmp_path / 'more' / NAME}\n", Path("/"))
