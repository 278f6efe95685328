"""What is said of a user's network that cannot be exported."""

from pathlib import Path

import pytest

from levelfield.worker.own_export import _reason
from levelfield.worker.sources import imported

FAILING = """
def forward():
    try:
        return {}["depth"]
    except KeyError as error:
        raise RuntimeError("its own") from error
"""
TRACED = 'from user code:\n  File "{file}", line 7, in forward\n'


def test_a_reason_names_the_line_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(FAILING)
    with pytest.raises(RuntimeError) as raised:
        imported(str(file), "failing").forward()
    assert _reason(raised.value, str(file)) == "KeyError: 'depth' (line 4 of the file)"
    traced = RuntimeError("data-dependent\n" + TRACED.format(file=file))
    assert _reason(traced, str(file)) == "RuntimeError: data-dependent (line 7 of the file)"
    assert _reason(traced, "another.py") == "RuntimeError: data-dependent"
