"""The page of the trial."""

import msgspec

from studies.fleet_whole.findings import find
from studies.fleet_whole.record import Record
from studies.fleet_whole.show import markdown
from studies.tests.fleet_whole.trials import RECORD, RESULT


def test_it_shows_findings_and_the_slowed_nodes() -> None:
    shown = markdown(msgspec.structs.replace(RECORD, findings=find(RECORD)))
    assert "| node killed: no window of a finished round is lost | yes | 0 lost, 8 kept, 1 of a round" in shown
    assert "**no**" not in shown
    assert f"| 10% | drift taken off | 1 | {RESULT} | 1.090 (1.020–1.170) | slow | 1.2% | 11% | – |" in shown
    assert "| mobilenet/latency/fp32/b1/t1/cpu | 7.0% | +10.1% |" in shown


def test_the_record_can_be_read_again() -> None:
    made = msgspec.structs.replace(RECORD, findings=find(RECORD))
    assert msgspec.json.decode(msgspec.json.encode(made), type=Record) == made
