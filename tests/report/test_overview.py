"""The overview: what the record says of each arm and case, at a glance."""

import re

from levelfield.analysis import Analysis, analyse
from levelfield.record.schema import Failure
from levelfield.report import html, names, overview, sentences
from levelfield.report.sentences import Relation
from tests.known import known
from tests.records_builder import make_run


def of(analysis: Analysis) -> tuple[overview.Table, ...]:
    return overview.tables(analysis, names.anchors(block.case.id for block in analysis.timed))


def test_every_cell_says_what_the_analysis_says() -> None:
    analysis = analyse(make_run(slower={"onnxruntime": 21.3 / 21.9 * 1.01}))
    (table,) = of(analysis)
    assert (len(table.columns), len(table.lines)) == (6, 7)
    for index, block in enumerate(analysis.timed):
        rows = {row.arm: row for row in block.rows}
        for line in table.lines:
            cell, row = line.cells[index], rows[line.arm]
            assert cell.best == (line.arm == block.best)
            relation = sentences.relation(row)
            if not cell.best:
                assert cell.joined == (relation in (Relation.EQUAL, Relation.NOT_SEPARATED)) == bool(cell.word)
            assert 0 <= known(cell.bar).width <= 100


def test_a_slow_arm_is_cut_and_does_not_flatten_the_others() -> None:
    (table,) = of(analyse(make_run(models=("resnet50",), scenarios=("latency",), slower={"torch": 30.0})))
    bars = {line.arm: line.cells[0].bar for line in table.lines}
    torch, other = bars["torch"], bars["tensorflow"]
    assert other is not None
    assert table.cut
    assert known(torch).cut
    assert not other.cut
    assert other.width > 25
    assert table.lines[-1].arm == "torch"


def test_an_interval_that_is_cut_has_a_mark_and_no_other_has_one() -> None:
    run = make_run(models=("resnet50",), scenarios=("latency",), slower={"torch": 30.0}, noise_scale=4.0)
    analysis = analyse(run)
    (table,) = of(analysis)
    (block,) = analysis.timed
    ends = {row.arm: row.ratio.high for row in block.rows if row.ratio is not None and row.ratio.high is not None}
    for line in table.lines:
        bar = known(line.cells[0].bar)
        assert (bar.high == 100) == bar.beyond, line.arm
    assert table.beyond
    assert table.lines[-1].arm == max(ends, key=lambda arm: ends[arm]) == "torch"
    page = html.render(run, analysis)
    assert page.count('class="arrow"') == sum(line.cells[0].bar.beyond for line in table.lines if line.cells[0].bar)


def test_every_cell_with_a_value_tells_the_arm_its_own_time_and_the_interval() -> None:
    (table,) = of(analyse(make_run(models=("resnet50",), scenarios=("latency",))))
    for line in table.lines:
        assert re.match(rf"{line.arm}: \d+\.\d\sms, (best|\+[\d.]+.%, 95 % .*)", line.cells[0].hover)


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


def test_many_cases_are_divided_by_scenario_and_the_rest_is_folded() -> None:
    tables = of(analyse(make_run(scenarios=("latency", "throughput", "training"), rounds=2)))
    assert [table.title for table in tables] == ["Latency", "Throughput", "Training"]
    assert all(len(table.columns) == 3 for table in tables)


def test_trainings_to_a_target_are_columns_too() -> None:
    (table,) = of(analyse(make_run(models=("mlp", "resnet50"), scenarios=("convergence",))))
    assert [column.anchor for column in table.columns] == ["convergence", "convergence"]
    assert "97.0" in table.columns[0].what
