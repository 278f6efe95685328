import json
import statistics

import pytest

from levelfield.errors import LevelfieldError
from levelfield.imported import optimum_benchmark
from tests.imported.recorded import content

NAME = "optimum-benchmark-report.json"


def test_each_target_is_a_result() -> None:
    found = optimum_benchmark.parse(content(NAME))
    assert [(result.name, len(result.launches[0])) for result in found.results] == [("load", 1), ("forward", 10)]
    p50_s = json.loads(content(NAME))["forward"]["latency"]["p50"]
    median_ns = statistics.median(sample.total_ns for sample in found.results[1].launches[0])
    assert median_ns == pytest.approx(1e9 * p50_s)


def test_another_unit_is_one_sentence() -> None:
    with pytest.raises(LevelfieldError, match="its unit of time is ms"):
        optimum_benchmark.parse(content(NAME).replace(b'"unit": "s"', b'"unit": "ms"'))
