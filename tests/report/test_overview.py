"""The overview: what the record says of each arm and case, at a glance."""

import dataclasses

import msgspec
import pytest

from levelfield.analysis import Analysis, analyse
from levelfield.record.schema import Failure
from levelfield.report import html, names, overview, separation
from levelfield.report.separation import Relation
from tests.records_builder import make_run
from tests.report.test_html import Page


def of(analysis: Analysis) -> tuple[overview.Table, ...]:
    return overview.tables(analysis, names.anchors(block.case.id for block in analysis.timed))


def test_every_cell_says_what_the_analysis_says() -> None:
    analysis = analyse(make_run(slower={"onnxruntime": 21.3 / 21.9 * 1.01}))
    (table,) = of(analysis)
    assert len(table.columns) == 6
    assert len(table.lines) == 7
    for index, block in enumerate(analysis.timed):
        rows = {row.arm: row for row in block.rows}
        for line in table.lines:
            cell, row = line.cells[index], rows[line.arm]
            assert cell.best == (line.arm == block.best)
            known = separation.relation(row)
            if not cell.best:
                assert cell.joined == (known in (Relation.EQUAL, Relation.NOT_SEPARATED)) == bool(cell.word)
            assert cell.bar is not None
            assert 0 <= cell.bar.width <= 100


def test_a_slow_arm_is_cut_and_does_not_flatten_the_others() -> None:
    (table,) = of(analyse(make_run(models=("resnet50",), scenarios=("latency",), slower={"torch": 30.0})))
    bars = {line.arm: line.cells[0].bar for line in table.lines}
    torch, other = bars["torch"], bars["tensorflow"]
    assert torch is not None
    assert other is not None
    assert table.cut
    assert torch.cut
    assert not other.cut
    assert other.width > 25
    assert table.lines[-1].arm == "torch"


def test_where_bars_end_is_written_as_costs_are() -> None:
    slow = dict.fromkeys(("torch", "jax", "tensorflow", "tensorflow-xla", "openvino"), 8.0)
    for slower, sign in ((slow, "×"), ({}, "%")):
        (table,) = of(analyse(make_run(models=("resnet50",), scenarios=("latency",), slower=slower)))
        assert table.end.endswith(sign), table.end


def test_the_best_arm_is_joined_only_where_another_is_not_separated_from_it() -> None:
    (apart,) = of(analyse(make_run(models=("resnet50",), scenarios=("latency",), slower={"openvino": 0.5})))
    assert not apart.joined
    (near,) = of(analyse(make_run(models=("resnet50",), scenarios=("latency",), slower={"onnxruntime": 21.3 / 21.9})))
    assert near.joined
    assert [line.arm for line in near.lines if line.cells[0].joined][:2] == [line.arm for line in near.lines[:2]]


def test_arms_without_numbers_say_why_and_stand_last() -> None:
    crash = Failure(stage="load", kind="crashed", message="It ended.")
    run = make_run(
        models=("mlp",),
        scenarios=("latency",),
        failures={("jax", "mlp"): crash},
        unequal=[("torch", "mlp")],
        control="openvino",
    )
    (table,) = of(analyse(run))
    assert [(line.arm, line.cells[0].value) for line in table.lines[-2:]] == [("torch", "not equal"), ("jax", "failed")]
    assert len(table.lines) == 7, "a control is no arm of its own"


def test_an_arm_with_too_few_launches_is_not_ranked() -> None:
    analysis = analyse(make_run(models=("mlp",), scenarios=("latency",)))
    (block,) = analysis.timed
    last = msgspec.structs.replace(block.rows[-1], standing="shown", rank=None, ratio=None)
    fewer = msgspec.structs.replace(block, rows=(*block.rows[:-1], last))
    (table,) = of(dataclasses.replace(analysis, blocks=(fewer,)))
    assert [line.cells[0].value for line in table.lines if line.arm == last.arm] == ["not ranked"]


def test_many_cases_are_divided_by_scenario_and_the_rest_is_folded() -> None:
    analysis = analyse(make_run(scenarios=("latency", "throughput", "training"), rounds=2))
    tables = of(analysis)
    assert [table.title for table in tables] == ["Latency", "Throughput", "Training"]
    assert all(len(table.columns) == 3 for table in tables)


def test_trainings_to_a_target_are_columns_too() -> None:
    analysis = analyse(make_run(models=("mlp", "resnet50"), scenarios=("convergence",)))
    (table,) = of(analysis)
    assert [column.anchor for column in table.columns] == ["convergence", "convergence"]
    assert "97.0" in table.columns[0].what


def test_what_is_not_ranked_has_no_overview() -> None:
    run = make_run(models=("mlp",), generations=2)
    assert of(analyse(run)) == ()
    assert 'class="overview"' not in html.render(run, analyse(run)).partition("<script")[0]


@pytest.mark.parametrize("labels", [(), ("smoke",)])
def test_it_stands_above_everything_and_headings_answer(labels: tuple[str, ...]) -> None:
    run = msgspec.structs.replace(make_run(rounds=2), labels=labels)
    text = html.render(run, analyse(run))
    page = Page(text)
    order = ["<h1", "By how much: the next slower", 'class="overview"', "Can it be trusted?", "What next:", "<nav"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert {str(link["href"])[1:] for link in page.all("a")} <= {
        attributes["id"] for _, attributes in page.elements if "id" in attributes
    }
