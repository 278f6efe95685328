"""The fingerprint for readers."""

from levelfield.record.schema import Absent, Fingerprint
from levelfield.report import machine
from tests.records_builder import make_machine
from tests.report.plain import plain


def test_absences_of_one_reason_stand_together() -> None:
    missing = Absent("the kernel shows no frequency control")
    (group,) = machine.groups(
        {"cpu": {"model": "X", "governor": missing, "boost": missing, "SMT": False, "l3 bytes": 1024}}
    )
    assert group.title == "CPU"
    assert [(line.name, plain(line.value)) for line in group.lines] == [
        ("model", "X"),
        ("SMT", "no"),
        ("l3", "1.00 KiB"),
        ("governor, boost", "not known: the kernel shows no frequency control"),
    ]


def test_many_facts_of_one_value_share_a_line_in_the_place_of_the_first() -> None:
    safe = dict.fromkeys(("mds", "l1tf", "srbds", "tsa"), "Not affected")
    lines = machine.all_lines({"retbleed": "Vulnerable", **safe, "a": 2, "b": 2})
    assert [(line.name, line.value) for line in lines] == [
        ("retbleed", "Vulnerable"),
        ("mds, l1tf, srbds, tsa", "Not affected"),
        ("a", "2"),
        ("b", "2"),
    ]


def test_essentials_are_what_is_there() -> None:
    found = {line.name: line.value for line in machine.essentials(make_machine())}
    assert found["processor"] == "AMD EPYC 9R45"
    assert found["kernel"] == "6.1.0-37-amd64"
    assert "GPU" not in found


def test_of_gpus_the_one_that_was_used_is_essential() -> None:
    facts: Fingerprint = make_machine()
    facts["gpu"] = {"device 0 name": "Tesla T4", "device 1 name": "NVIDIA H100", "driver": "595.58"}
    assert {line.name: line.value for line in machine.essentials(facts, 1)}["GPU"] == "NVIDIA H100"
    assert "GPU" not in {line.name for line in machine.essentials(facts)}
