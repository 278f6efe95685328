"""What `benchmark_app` prints."""

import pytest

from studies.harness.benchmark_app import parse
from suite.errors import LevelfieldError

SAID = """[Step 11/11] Dumping statistics report
[ INFO ] Execution Devices:['CPU']
[ INFO ] Count:            {count} iterations
[ INFO ] Duration:         1000.59 ms
[ INFO ] Latency:
[ INFO ]    Median:        {median}
[ INFO ]    Average:       167.64 us
"""


@pytest.mark.parametrize(("median", "expected_ns"), [("16.66 us", 16_660.0), ("21.35 ms", 21_350_000.0)])
def test_the_median_is_read_in_its_own_unit(median: str, expected_ns: float) -> None:
    found = parse(SAID.format(median=median, count=5611))
    assert found.median_ns == expected_ns
    assert found.calls == 5611


@pytest.mark.parametrize("said", ["", "Median: soon", SAID.format(median="0.00 ms", count=3)])
def test_an_answer_without_a_median_is_an_error(said: str) -> None:
    with pytest.raises(LevelfieldError, match="did not name its median"):
        parse(said)
