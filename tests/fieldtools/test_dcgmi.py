import json
from typing import Any

import pytest

from suite.errors import LevelfieldError
from suite.fieldtools import dcgmi
from suite.record.schema import Absent, FieldReading
from tests.fieldtools.recorded import content


def test_dcgm_3_names_gpus_by_number() -> None:
    found = dcgmi.parse(content("dcgmi-3.1.0.json"))
    assert found.version == "3.1.0"
    assert found.facts == {"driver": Absent("this output does not say")}
    assert len(found.readings) == 9 + 8
    assert found.readings[4] == FieldReading("Deployment: Persistence Mode", "GPU 0,1,2,3,4,5,6,7", "pass")
    assert found.readings[-1] == FieldReading("Custom: software", "GPU 7", "pass")


def test_dcgm_4_names_entities_and_says_why_a_test_failed() -> None:
    found = dcgmi.parse(content("dcgmi-4.2.3-gb10-level2-partial-skip.json"))
    assert (found.version, found.facts) == ("4.2.3", {"driver": "580.82.09"})
    assert [(each.measure, each.at, each.value) for each in found.readings] == [
        ("Deployment: software", "GPU 0", "fail"),
        ("Hardware: memory", "GPU 0", "skip"),
        ("Integration: pcie", "GPU 0", "skip"),
    ]
    assert found.readings[0].note.startswith("Persistence Mode: Persistence mode for GPU 0 is disabled.")


def of(test: dict[str, Any], **diagnostic: Any) -> bytes:
    return json.dumps({"DCGM Diagnostic": {"test_categories": [{"tests": [test]}], **diagnostic}}).encode()


def test_a_test_without_results_has_its_summary() -> None:
    [reading] = dcgmi.parse(of({"name": "pcie", "results": [], "test_summary": {"status": "Not Run"}})).readings
    assert reading == FieldReading("pcie", "all", "not run")


def test_a_missing_status_is_absent() -> None:
    [reading] = dcgmi.parse(of({"name": "pcie", "results": [{"entity_id": 1}]})).readings
    assert reading == FieldReading("pcie", "GPU 1", Absent("this output does not say"))


@pytest.mark.parametrize(
    ("spoiled", "says"),
    [
        (b"", "truncated"),
        (content("dcgmi-3.1.0.json")[:900], "malformed|truncated|trailing"),
        (b'{"DCGM Diagnostic": 3}', "Expected `object"),
        (b'{"other": {}}', "holds no diagnostic"),
        (b'{"DCGM Diagnostic": {"test_categories": []}}', "holds no test"),
        (of({"name": "x"}, runtime_error="no GPU"), r"did not run \(no GPU\)"),
        (b'{"DCGM Diagnostic": ' + b'{"a":' * 50_000 + b"}" * 50_000 + b"}", "cannot be read"),
    ],
)
def test_other_output_is_one_sentence(spoiled: bytes, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        dcgmi.parse(spoiled)
