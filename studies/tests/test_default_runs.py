"""What default runs say, and which intervals hold the mean of the others."""

import msgspec
import pytest

from studies import default_runs
from studies.default_runs import CaseSeen, Ratio, Seen
from tests.records_builder import make_run


def _run(value: float, half_width: float = 0.02, best: str = "jax") -> Seen:
    case = CaseSeen("MLP, latency", "mlp", 5, (best,), (Ratio("torch", value, half_width),))
    return Seen("run", "2026-11-27T10:00:00Z", 300.0, "a processor", 0.9, (case,))


def test_an_interval_is_held_against_the_mean_of_the_others() -> None:
    assert default_runs.held([_run(0.10), _run(0.11), _run(0.12)]) == (3, 3)
    assert default_runs.held([_run(0.10), _run(0.10), _run(0.16)]) == (0, 3)
    assert default_runs.held([_run(0.10), _run(0.10, best="openvino")]) == (0, 0)


def test_a_run_is_seen_by_its_ratios() -> None:
    run = make_run(models=("mlp",), scenarios=("latency",))
    found = default_runs.seen(run)
    (case,) = found.cases
    assert case.first[0] not in {ratio.arm for ratio in case.ratios}
    assert [ratio.value for ratio in case.ratios] == sorted(ratio.value for ratio in case.ratios)
    with pytest.raises(ValueError, match="no default run that was measured to its end"):
        default_runs.seen(msgspec.structs.replace(run, finished=None))
