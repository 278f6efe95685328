"""Every run that a test makes is verified as its reader would verify it: the folder, and the page alone."""

import re
from pathlib import Path

from levelfield.record.page import NAME
from levelfield.share.attestation import read
from levelfield.share.verify import verify

_TOLD = re.compile(r"^Report: (.+)$", re.MULTILINE)


def check_reports(out: str, folder: Path) -> None:
    """Verify every run whose report a command named.

    Parameters
    ----------
    out
        What the command printed, in lines that were not wrapped.
    folder
        Where it ran.
    """
    for page in _TOLD.findall(out):
        check_run((folder / page).parent)


def check_run(folder: Path) -> None:
    """Verify a run's folder, and its page alone.

    Raises
    ------
    AssertionError
        Something in it is wrong, or its page is not the one that follows from its record.
    """
    for path in (folder, folder / NAME):
        found = verify(read(path))
        wrong = [
            f"{each.topic}: {each.says} {'; '.join(each.named)}" for each in found.checks if each.state == "broken"
        ]
        assert not wrong, f"{path} does not verify: {' / '.join(wrong)}"
        assert {each.state for each in found.checks if each.topic == "page"} == {"holds"}, path
