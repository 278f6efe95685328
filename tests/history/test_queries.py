"""Queries of summaries: series, what differs between runs, and which results are meant."""

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.history import queries
from levelfield.history.summary import Summary
from tests.history.many import LATENCY, small_run, summaries, write_run


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    return write_run(small_run(), tmp_path_factory.mktemp("template") / "run")


def one_series(runs: queries.Runs, **options: bool) -> list[str]:
    found = queries.series(runs, [LATENCY], labelled=options.get("labelled", False))
    return [point.run for one in found for point in one.points]


def test_a_series_has_its_runs_in_order_of_time(template: Summary) -> None:
    given = summaries(template, 30)
    (found,) = queries.series(queries.in_order(reversed(given)), [LATENCY], labelled=False)
    assert [point.run for point in found.points] == [one.id for one in given]
    results = [next(result for result in one.results if result.id == LATENCY) for one in given]
    assert [point.estimate for point in found.points] == [result.estimate for result in results]
    assert (found.machine, found.unit, found.image) == (template.machine, "ns", "image onnxruntime")


def test_runs_on_other_hardware_or_elsewhere_are_other_series(template: Summary) -> None:
    first, second, third = summaries(template, 3)
    second = msgspec.structs.replace(second, machine="another", machine_title="Another machine")
    runs = queries.in_order([first, second, msgspec.structs.replace(third, launcher="venv")])
    found = queries.series(runs, [LATENCY], labelled=False)
    assert [(one.machine, one.launcher, len(one.points)) for one in found] == [
        (template.machine, "docker", 1),
        ("another", "docker", 1),
        (template.machine, "venv", 1),
    ]


def test_labelled_runs_are_left_out_unless_asked(template: Summary) -> None:
    first, second = summaries(template, 2)
    runs = queries.in_order([first, msgspec.structs.replace(second, labels=("injected", "smoke"))])
    assert one_series(runs) == [first.id]
    assert one_series(runs, labelled=True) == [first.id, second.id]


def test_what_changed_is_reported_and_only_what_concerns_the_arm(template: Summary) -> None:
    given = summaries(template, 2, level=lambda day: 1.0 + day / 10)
    kernel = {**template.environment["kernel"], "release": "7.1"}
    other = {**template.environment["image openvino"], "openvino": "2027.1"}
    environment = {
        **given[1].environment,
        "kernel": kernel,
        "image openvino": other,
        "new": {"fact": "told", "none": "not known: no sensor"},
    }
    runs = queries.in_order([given[0], msgspec.structs.replace(given[1], environment=environment)])
    (one,) = queries.series(runs, [LATENCY], labelled=False)
    found = {
        (fact.group, fact.name): (fact.before, fact.after)
        for fact in queries.environment_differences(runs, one.points[0], one.points[1], one)
    }
    assert found == {
        ("image onnxruntime", "onnxruntime"): ("1.40", "1.41"),
        ("kernel", "release"): (template.environment["kernel"]["release"], "7.1"),
        ("new", "fact"): (None, "told"),
    }
    assert queries.environment_differences(runs, one.points[0], one.points[0], one) == []


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
