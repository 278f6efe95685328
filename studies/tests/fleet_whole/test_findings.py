"""Findings follow from the facts of the record, and from nothing else."""

import pytest

from studies.fleet_whole.findings import find
from studies.fleet_whole.record import Record
from studies.tests.fleet_whole.trials import ARRIVED, RECORD, with_part


def failed(record: Record) -> list[str]:
    return [each.statement for each in find(record) if each.holds is False]


def test_everything_holds() -> None:
    assert failed(RECORD) == []
    assert sum(each.holds is True for each in find(RECORD)) == 24


@pytest.mark.parametrize(
    ("part", "changes", "statement"),
    [
        ("whole", {"records": 2}, "each record comes back"),
        ("whole", {"answers": 2}, "the same answer"),
        ("whole", {"exit_code": 0}, "they are judged"),
        ("whole", {"left": 1}, "no process that measured is left"),
        ("node", {"rounds": 0}, "node killed: in the middle"),
        ("node", {"lost": 1}, "node killed: no window of a finished round is lost"),
        ("node", {"left": 1}, "node killed: no process or container"),
        ("node", {"resumed": False}, "node killed: the run itself is resumed"),
        ("node", {"undisturbed": 1}, "node killed: the runs of other nodes"),
        ("head", {"lost": 2}, "head killed: no window"),
        ("head", {"untouched": False}, "head killed: the runs of other nodes"),
        ("head", {"records": 2}, "head killed: all records come back"),
        ("bundle", {"without": "It measured."}, "can make nothing"),
        ("bundle", {"changed": "It measured."}, "one changed byte"),
        ("bundle", {"forged": ARRIVED.changed}, "refused by its manifest"),
        ("bundle", {"left_of_forged": 1}, "nothing of a refused bundle"),
        ("bundle", {"packed": 2}, "packed once"),
        ("bundle", {"wheels": 45}, "every wheel arrives"),
        ("bundle", {"wheels_right": 43}, "every wheel arrives"),
        ("bundle", {"environments": ("canary",)}, "environments are those of the locks"),
        ("bundle", {"records": 1}, "the runs complete"),
    ],
)
def test_a_fact_that_is_wrong_makes_its_statement_fail_alone(
    part: str, changes: dict[str, object], statement: str
) -> None:
    (found,) = failed(with_part(part, **changes))
    assert statement in found


def test_slowed_nodes_are_reported_and_nothing_was_aimed_at() -> None:
    reported = {each.statement: each.seen for each in find(RECORD) if each.holds is None}
    assert reported == {
        "a node slowed down by 10% among 15 replayed peers, drift taken off, is called slow": (
            "in 1 of 2 fleets; in the middle one it is at 1.090 (1.020–1.170) of its peers, and 11% would be found"
        ),
        "a replayed peer is called slow, fast or noisy": "in 1 of 2 fleets: noisy",
    }


def test_a_long_reason_is_cut_to_what_it_is_about() -> None:
    (found,) = (each for each in find(RECORD) if "can make nothing" in each.statement)
    assert found.seen.startswith("…")
    assert "pip could not fetch the locked wheels" in found.seen
