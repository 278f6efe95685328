import json

import pytest

from suite.errors import LevelfieldError
from suite.fieldtools import nvbandwidth
from suite.record.schema import Absent, FieldReading
from tests.fieldtools.recorded import content


def test_each_place_of_a_matrix_is_a_reading() -> None:
    found = nvbandwidth.parse(content("nvbandwidth-v0.8-4x-rtx-5090.json"))
    assert found.version == "v0.8"
    assert found.facts == {
        "driver": "570.86.16",
        "CUDA runtime": "12.8",
        "GPUs": ", ".join(["NVIDIA GeForce RTX 5090"] * 4),
    }
    assert found.readings[0] == FieldReading("host_to_device_memcpy_ce", "CPU 0, GPU 0", 56382900000.0, "B/s")
    by_name = {(each.measure, each.at): each for each in found.readings}
    assert by_name["host_device_latency_sm", "CPU 0, GPU 2"].value == 620.331
    assert by_name["host_device_latency_sm", "CPU 0, GPU 2"].unit == "ns"
    assert by_name["device_local_copy", "GPU 3"].value == 760912000000.0
    assert by_name["device_to_device_latency_sm", ""].value == Absent("nvbandwidth says Waived")
    assert sum(isinstance(each.value, Absent) for each in found.readings) == 17
    assert len(found.readings) == 18 * 4 + 17


def test_neither_host_nor_bus_is_kept() -> None:
    assert "nf5468" not in str(nvbandwidth.parse(content("nvbandwidth-v0.8-4x-rtx-5090.json")))


def test_an_older_verbose_output_does_not_list_devices() -> None:
    found = nvbandwidth.parse(content("nvbandwidth-v0.5-verbose.json"))
    assert (found.version, found.facts["driver"], found.facts["CUDA runtime"]) == ("v0.5", "565.02", "12.7")
    assert found.facts["GPUs"] == Absent("this output does not list them")
    assert found.readings[1] == FieldReading("device_to_host_memcpy_ce", "CPU 0, GPU 0", 13200100000.0, "B/s")


def of(**case: object) -> bytes:
    named = {"name": "x", "status": "Passed", "bandwidth_description": "GPU(row) -> GPU(column) bandwidth GB/s"}
    return json.dumps({"nvbandwidth": {"testcases": [named | case]}}).encode()


def test_a_pair_that_was_not_measured_is_absent() -> None:
    readings = nvbandwidth.parse(of(bandwidth_matrix=[["N/A", "25.5"], None])).readings
    assert [(each.at, each.value) for each in readings] == [
        ("GPU 0, GPU 0", Absent("the tool says N/A")),
        ("GPU 0, GPU 1", 25500000000.0),
    ]


def test_without_a_unit_there_is_no_figure() -> None:
    [reading] = nvbandwidth.parse(of(bandwidth_matrix=[["1"]], bandwidth_description="bandwidth (MB/s)")).readings
    assert reading == FieldReading("x", "row 0, column 0", Absent("this output does not say its unit"))


@pytest.mark.parametrize(
    ("spoiled", "says"),
    [
        (content("nvbandwidth-v0.5-verbose.json")[:3000], "cannot be read"),
        (b'{"nvbandwidth": {"error": "No devices found"}}', "No devices found"),
        (b'{"nvbandwidth": {"testcases": []}}', "holds no test"),
        (b'{"nvbandwidth": {"testcases": [{"name": 3}]}}', "Expected `str`"),
        (of(bandwidth_matrix=[[["1"]]]), "cannot be read"),
    ],
)
def test_other_output_is_one_sentence(spoiled: bytes, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        nvbandwidth.parse(spoiled)
