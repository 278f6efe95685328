"""Trends of one machine as a page: where a level changed, and what is drawn of it."""

import hashlib
import math

import msgspec
import pytest

from levelfield import analysis
from levelfield.analysis import summary
from levelfield.analysis.summary import Summary
from levelfield.record.schema import Run
from levelfield.share import trends
from tests.analysis.many import LATENCY, summaries
from tests.compare.runs import with_machine
from tests.share.shelves import made


def test_a_trend_tells_where_the_level_changed() -> None:
    runs = [made(number, slower=1.0 if number < 5 else 1.5) for number in range(10)]
    (page,) = trends.pages([write_summary(one) for one in runs])
    slower = [line for line in page.lines if line.result == "openvino/mlp/latency/fp32/b1/t2/cpu"]
    assert len(slower) == 1
    assert "slower since" in slower[0].says
    assert sum(dot.changed for dot in slower[0].dots) == 1
    steady = next(line for line in page.lines if line.result.startswith("onnxruntime/mlp/latency"))
    assert not any(dot.changed for dot in steady.dots)
    assert not steady.steps
    assert steady in page.steady
    assert slower[0] in page.changed
    assert page.lines.index(slower[0]) < page.lines.index(steady), "what changed comes first"
    (step,) = slower[0].steps
    (begins,) = (dot for dot in slower[0].dots if dot.changed)
    assert (step.x, step.before, step.run) == (begins.x, "run-04", "run-05")
    assert slower[0].band.x == step.x
    assert slower[0].moved == pytest.approx(math.log(1.5), abs=0.2)
    assert (slower[0].first, slower[0].last) == (runs[0].started[:10], runs[-1].started[:10])


def test_a_change_names_what_differs_between_the_runs_around_it() -> None:
    runs = [made(number, slower=1.0 if number < 5 else 1.5) for number in range(10)]
    runs[5:] = [with_machine(one, kernel={"release": "6.9"}) for one in runs[5:]]
    (page,) = trends.pages([write_summary(one) for one in runs])
    (step,) = next(line for line in page.lines if line.result == "openvino/mlp/latency/fp32/b1/t2/cpu").steps
    assert any("release" in fact and fact.endswith("→ 6.9") for fact in step.facts), step.facts


def write_summary(one: Run) -> Summary:
    digest = hashlib.sha256(one.id.encode()).hexdigest()
    return summary.summarise(one, analysis.analyse(one), record_sha256=digest, record_bytes=1)


@pytest.fixture(scope="module")
def template() -> Summary:
    return write_summary(made(1))


def line(page: trends.Page, result: str = LATENCY) -> trends.Line:
    return next(each for each in page.lines if each.result == result)


def renamed(one: Summary, name: str, **changes: str) -> Summary:
    """Return the summary of another run."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    return msgspec.structs.replace(one, id=name, record_sha256=digest, **changes)


def test_every_machine_and_launcher_has_a_page_of_its_own(template: Summary) -> None:
    runs = summaries(template, 4)
    others = [renamed(one, f"o{one.id}", machine="m2", machine_title="Another machine") for one in runs[:2]]
    bare = [renamed(one, f"v{one.id}", launcher="venv") for one in runs[:3]]
    pages = {page.name: page for page in trends.pages([*others, *runs, *bare])}
    assert {name: page.runs for name, page in pages.items()} == {
        f"{template.machine}-{template.launcher}": 4,
        f"{template.machine}-venv": 3,
        "m2-docker": 2,
    }
    assert pages["m2-docker"].machine_title == "Another machine"


@pytest.mark.parametrize(
    ("runs", "heading"), [(2, "3 more runs until a change can be found"), (4, "1 more run until a change can be found")]
)
def test_too_few_runs_say_how_many_are_missing(template: Summary, runs: int, heading: str) -> None:
    (page,) = trends.pages(summaries(template, runs))
    assert (page.heading, page.steady, page.waiting) == (heading, (), page.lines)


def test_that_nothing_changed_is_said_of_runs_that_suffice(template: Summary) -> None:
    runs = summaries(template, 5)
    late = [msgspec.structs.replace(one, results=(*one.results, renamed_result(one))) for one in runs[3:]]
    (page,) = trends.pages([*runs[:3], *late])
    judged = len(page.lines) - 1
    assert page.heading == f"No change found in {judged} results"
    assert [(each.result, each.missing) for each in page.waiting] == [("new", 3)]


def test_what_fails_in_the_newest_run_is_not_steady(template: Summary) -> None:
    runs = summaries(template, 6)
    first = runs[-1].results[0]
    lost = msgspec.structs.replace(first, standing="failed", estimate=None)
    last = msgspec.structs.replace(runs[-1], results=(lost, *runs[-1].results[1:]))
    (page,) = trends.pages([*runs[:-1], last])
    assert [each.result for each in page.changed] == [first.id]
    assert page.changed[0].says.startswith("no valid answer in the newest run;")


def renamed_result(one: Summary) -> summary.Result:
    return msgspec.structs.replace(one.results[0], id="new")


def test_labelled_runs_and_results_measured_once_are_left_out(template: Summary) -> None:
    runs = summaries(template, 3)
    labelled = [msgspec.structs.replace(one, labels=("smoke",)) for one in runs]
    assert trends.pages(labelled) == ()
    assert trends.pages(runs[:1]) == ()
    (page,) = trends.pages([runs[0], runs[1], labelled[2]])
    assert page.runs == 2
    assert len(line(page).dots) == 2
