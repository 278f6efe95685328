"""Low modes that are kept from one run to the next, in a file that may be damaged."""

import datetime as dt
from pathlib import Path

import msgspec
import pytest

from levelfield.machine import states
from levelfield.record.schema import MachineLevels, MachineProbe

DAY = dt.date(2026, 11, 27)
OWN = MachineLevels(900_000, 400_000, 500_000, probes=100, low_share=0.7, high_share=0.2, kept=False)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    return tmp_path


def test_what_a_run_saw_is_known_to_the_next_one_on_that_machine_alone() -> None:
    assert states.load("here", DAY) is None
    assert states.keep("here", OWN, DAY)
    assert states.load("here", DAY) == MachineProbe(900_000, 400_000, 500_000)
    assert states.load("there", DAY) is None


@pytest.mark.parametrize(
    "own",
    [
        None,
        msgspec.structs.replace(OWN, high_share=0.0),  # one state seen: it may be either
        msgspec.structs.replace(OWN, low_share=0.2),  # contended throughout
        msgspec.structs.replace(OWN, kept=True),  # a level of others
    ],
)
def test_a_run_that_did_not_see_the_low_mode_beside_another_keeps_nothing(own: MachineLevels | None) -> None:
    assert not states.keep("here", own, DAY)
    assert states.load("here", DAY) is None


def test_a_run_whose_modes_are_both_slow_keeps_nothing_where_a_lower_one_is_known() -> None:
    states.keep("here", OWN, DAY)
    assert not states.keep("here", msgspec.structs.replace(OWN, arithmetic_ns=1_300_000), DAY)


def test_a_level_that_no_run_has_seen_for_a_month_is_forgotten() -> None:
    states.keep("here", OWN, DAY)
    assert states.load("here", DAY + dt.timedelta(days=states.DAYS)) is not None
    assert states.load("here", DAY + dt.timedelta(days=states.DAYS + 1)) is None
    later = DAY + dt.timedelta(days=states.DAYS + 1)
    assert states.keep("here", msgspec.structs.replace(OWN, arithmetic_ns=1_300_000), later)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"\xff", b"[1]", b'[{"machine":"here","day":"2026-11-27","low":{"type":"machine-probe"}}]']
)
def test_a_damaged_file_is_nothing_known_and_is_replaced(cache: Path, content: bytes) -> None:
    (cache / states.NAME).write_bytes(content)
    assert states.load("here", DAY) is None
    assert states.keep("here", OWN, DAY)
    assert states.load("here", DAY) is not None
