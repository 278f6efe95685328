"""Queries of a store: series, what differs between runs, and which results are meant."""

import msgspec
import pytest

from suite.errors import LevelfieldError
from suite.history import queries
from suite.history.store import Store
from suite.history.summary import Summary
from tests.history.many import LATENCY, summaries


def one_series(opened: Store, **options: bool) -> list[str]:
    found = queries.series(opened, [LATENCY], labelled=options.get("labelled", False))
    return [point.run for one in found for point in one.points]


def test_runs_on_other_hardware_or_elsewhere_are_other_series(opened: Store, template: Summary) -> None:
    first, second, third = summaries(template, 3)
    second = msgspec.structs.replace(second, machine="another", machine_title="Another machine")
    opened.enter([first, second, msgspec.structs.replace(third, launcher="venv")])
    found = queries.series(opened, [LATENCY], labelled=False)
    assert [(one.machine, one.launcher, len(one.points)) for one in found] == [
        (template.machine, "docker", 1),
        ("another", "docker", 1),
        (template.machine, "venv", 1),
    ]


def test_labelled_runs_are_left_out_unless_asked(opened: Store, template: Summary) -> None:
    first, second = summaries(template, 2)
    opened.enter([first, msgspec.structs.replace(second, labels=("injected", "smoke"))])
    assert one_series(opened) == [first.id]
    assert one_series(opened, labelled=True) == [first.id, second.id]


def test_what_changed_is_reported_and_only_what_concerns_the_arm(opened: Store, template: Summary) -> None:
    given = summaries(template, 2, level=lambda day: 1.0 + day / 10)
    kernel = {**template.environment["kernel"], "release": "7.1"}
    other = {**template.environment["image openvino"], "openvino": "2027.1"}
    environment = {
        **given[1].environment,
        "kernel": kernel,
        "image openvino": other,
        "new": {"fact": "told", "none": "not known: no sensor"},
    }
    opened.enter([given[0], msgspec.structs.replace(given[1], environment=environment)])
    (one,) = queries.series(opened, [LATENCY], labelled=False)
    found = {
        (fact.group, fact.name): (fact.before, fact.after)
        for fact in queries.environment_differences(opened, one.points[0], one.points[1], one)
    }
    assert found == {
        ("image onnxruntime", "onnxruntime"): ("1.40", "1.41"),
        ("kernel", "release"): (template.environment["kernel"]["release"], "7.1"),
        ("new", "fact"): (None, "told"),
    }
    assert queries.environment_differences(opened, one.points[0], one.points[0], one) == []


KNOWN = [LATENCY, "openvino/mlp/latency/fp32/b1/t2/cpu", "openvino/bert/memory/fp32/b1/t2/cpu"]


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        (LATENCY, [LATENCY]),
        ("onnxruntime", [LATENCY]),
        ("mlp/latency", KNOWN[:2]),
        ("*/bert/*", KNOWN[2:]),
        ("openvino/*/latency/*", KNOWN[1:2]),
    ],
)
def test_what_is_meant(asked: str, meant: list[str]) -> None:
    assert queries.matching(asked, KNOWN) == meant


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("onxruntime/mlp", f"Did you mean {LATENCY}?"),
        ("openvino/*/latncy/*", f"Did you mean {KNOWN[1]}?"),
        ("something else", "Known: "),
    ],
)
def test_what_is_not_there_is_answered_with_what_is_close(asked: str, says: str) -> None:
    with pytest.raises(LevelfieldError) as caught:
        queries.matching(asked, KNOWN)
    assert says in caught.value.fix
