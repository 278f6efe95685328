"""LoadGen on pages and in terminals: curves, settings beside the rules, and that it is no MLPerf result."""

from functools import partial

import pytest

from levelfield import analysis
from levelfield.record.schema import Run
from levelfield.report import html, results, terminal
from levelfield.share import card
from tests.records_builder import make_run
from tests.report.plain import printed

SCENARIOS = ["loadgen-single-stream", "loadgen-server", "loadgen-offline"]


@pytest.fixture(scope="module")
def run() -> Run:
    return make_run(models=["resnet50"], backends=["torch", "openvino"], scenarios=SCENARIOS)


def test_every_way_out_says_that_it_is_no_mlperf_result(run: Run) -> None:
    found = analysis.analyse(run)
    shown = printed(partial(terminal.show, run, found), 160)
    for text in (shown, card.markdown(run, found), html.render(run, found)):
        plain = " ".join(text.replace("&#39;", "'").replace("’", "'").split())
        assert "These are no MLPerf results" in plain
        assert "VALID" in plain
    assert "1.02×" in shown


def test_settings_stand_beside_those_of_the_rules(run: Run) -> None:
    (single,) = (block for block in analysis.analyse(run).loadgen if block.scenario == "SingleStream")
    table = results.loadgen_settings(single, "it")
    found = {line.cells[0].text: [cell.text for cell in line.cells[2:]] for line in table.lines}
    assert found["min_duration_ms"] == ["1.00\u00a0s", "600\u00a0s"]
    assert found["performance_sample_count_override"] == ["4", "1024"]
