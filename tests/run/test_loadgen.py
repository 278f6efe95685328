"""LoadGen's four scenarios, from the command's options to the report, with a real framework in its container."""

from pathlib import Path

import pytest

from levelfield import analysis, plan
from tests.benches import once

SCENARIOS = ("loadgen-single-stream", "loadgen-multi-stream", "loadgen-server", "loadgen-offline")


@pytest.mark.docker
def test_all_scenarios_in_a_container(tmp_path: Path) -> None:
    chosen = plan.Selection(
        profile="smoke", models=("mlp",), backends=("onnxruntime",), scenarios=SCENARIOS, batches=(8,), control="none"
    )
    run, page, out, code = once(chosen, tmp_path / "reports", "docker", loadgen_test_s=0.2)
    assert code == 0, out
    found = {block.scenario: block for block in analysis.analyse(run).loadgen}
    assert set(found) == {"SingleStream", "MultiStream", "Server", "Offline"}
    assert found["MultiStream"].case.batch == 8
    for scenario, block in found.items():
        (row,) = block.rows
        assert row.is_equal, (scenario, row)
        assert row.value_ns is not None, (scenario, row.out_of_reach)
        assert block.version.startswith("6.0.17")
    ratio = found["SingleStream"].rows[0].against_own
    assert ratio is not None
    assert ratio.value > 0.5
    assert len({point.held for point in found["Server"].rows[0].points}) == 2, "the search went to where it breaks"
    text = page.read_text(encoding="utf-8")
    assert "These are no MLPerf results" in text
    assert "mlperf_log_summary.txt" in text
    assert "These are no MLPerf results" in " ".join(out.split())
