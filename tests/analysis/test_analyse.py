"""What analysis says about whole records: empty ones, huge ones and very large ones."""

import msgspec

from levelfield.analysis import analyse
from tests.analysis.changed import exact, replace_windows, rows
from tests.records_builder import make_run


def test_an_empty_record_is_analysed() -> None:
    analysis = analyse(msgspec.structs.replace(make_run(), blocks=()))
    assert analysis.blocks == ()
    assert analysis.canary is None
    assert analysis.noise is None
    assert analysis.exit_code == 0


def test_huge_numbers_are_survived() -> None:
    analysis = analyse(replace_windows(exact(scenarios=("latency",)), "openvino", samples_ns=[2**63 - 1, 2**63 - 2]))
    assert rows(analysis)["openvino"].rank == 7
