"""What `benchmark_app` prints."""

import numpy as np
import pytest

from studies.overhead.benchmark_app import given, parse
from suite.errors import LevelfieldError
from suite.record.schema import Case
from suite.zoo import decoding, inputs, models
from suite.zoo.decoding import Call

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


def test_a_decoders_step_is_one_token_at_its_position() -> None:
    found = given(Case("decoder", "decode", "fp32", 2, 1, depth=128))
    whole = decoding.inputs(models.get("decoder"), Call("decode", 128), 0, 2)["input_ids"]
    assert list(found) == ["input_ids", "positions"]
    assert found["input_ids"].tolist() == whole[:, 128:].tolist()
    assert found["positions"].tolist() == [128]
    assert [array.dtype for array in found.values()] == [np.int32, np.int64]


def test_other_models_get_the_inputs_of_their_case() -> None:
    found = given(Case("mlp", "latency", "fp32", 1, 1))
    assert found["features"].tolist() == inputs.make(models.get("mlp"), 0, 1)["features"].tolist()
