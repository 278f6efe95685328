"""NVML asked round by round, through ctypes: a fake library whose answers change while a process asks."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from levelfield.machine.device_use import MAX_ERRORS, Device
from levelfield.record.schema import Absent
from tests.commands import python
from tests.machine.fake_nvml import compile_library, environment

_QUESTION = """
import json, os, pathlib, sys, msgspec
from levelfield.machine.device_use import Device
now = pathlib.Path(os.environ["FAKE_NVML"])
before, after, pids = json.loads(sys.argv[1])
def set_(values):
    now.write_text("".join(f"{name}={value}\\n" for name, value in values.items()))
set_(before)
with Device(0) as device:
    first = device.read()
    set_(after)
    print(json.dumps(msgspec.to_builtins(device.use(first, pids, "torch@cu13"))))
device.close()
"""


def use(
    folder: Path,
    before: dict[str, int],
    after: dict[str, int],
    pids: dict[str, int] | None = None,
    without: tuple[str, ...] = (),
) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    library = compile_library(folder / "nvml", without=without)
    variables = {"FAKE_NVML": str(folder / "now"), **environment(library)}
    found: dict[str, Any] = json.loads(python(_QUESTION, json.dumps([before, after, pids or {}]), **variables))
    return found


def test_counters_are_what_they_grew_by_and_the_rest_is_what_it_is(tmp_path: Path) -> None:
    found = use(
        tmp_path,
        {"energy": 1_000_000, "ecc-uncorrected": 3},
        {
            "energy": 1_000_750, "ecc-uncorrected": 4, "power": 412_000, "utilisation": 88, "memory-utilisation": 35,
            "sm": 1980, "memory-clock": 2619, "temperature": 61, "reasons": 0, "pid": 4711, "process-bytes": 2 << 30,
        },
        {"torch@cu13": 4711, "jax@cu13": 4712},
    )  # fmt: skip
    assert found.pop("elapsed_ns") > 0
    assert found == {
        "energy_mj": 750, "power_mw": 412_000, "utilisation_percent": 88, "memory_utilisation_percent": 35,
        "sm_clock_mhz": 1980, "memory_clock_mhz": 2619, "temperature_c": 61, "throttled": [], "memory_bytes": 2 << 30,
        "ecc_errors": 1, "xid_errors": [],
    }  # fmt: skip


def test_what_held_the_clocks_down_during_a_window_is_reported_after_it(tmp_path: Path) -> None:
    """Right after a window the GPU idles, and the reasons of that moment say so and no more: counters remember."""
    minute = 60_000_000_000  # longer than any window here
    found = use(tmp_path, {"held-by-power": 5 * minute}, {"reasons": 1, "held-by-power": 6 * minute})
    assert found["throttled"] == ["power limit"]
    both = use(tmp_path / "both", {}, {"reasons": 4, "held-by-power": minute, "held-by-heat": minute})
    assert both["throttled"] == ["power limit", "too hot"]
    assert use(tmp_path / "none", {}, {"reasons": 4}, without=("POLICIES",))["throttled"] == ["power limit"]


def test_memory_is_of_the_process_whose_turn_it_was(tmp_path: Path) -> None:
    other = use(tmp_path, {}, {"pid": 4712}, {"torch@cu13": 4711})
    assert "does not list the worker's process" in other["memory_bytes"]["reason"]
    assert "process id is not known" in use(tmp_path, {}, {"pid": 4712})["memory_bytes"]["reason"]
    # NVML's "not available" is all ones.
    untold = use(tmp_path, {}, {"pid": 4711, "process-bytes": 2**64 - 1}, {"torch@cu13": 4711})
    assert untold["memory_bytes"]["reason"] == "the driver does not tell it by process"


def test_a_counter_that_fell_is_absent(tmp_path: Path) -> None:
    assert "went backwards" in use(tmp_path, {"energy": 900}, {"energy": 5})["energy_mj"]["reason"]


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="This machine has an NVIDIA driver.")
def test_without_a_driver_everything_is_absent_with_its_reason() -> None:
    with Device(0) as device:
        used = device.use(device.read(), {"torch": os.getpid()}, "torch")
    device.close()
    assert used.elapsed_ns > 0
    for name in used.__struct_fields__:
        value = getattr(used, name)
        if name != "elapsed_ns":
            assert isinstance(value, Absent)
            assert "no NVIDIA driver here" in value.reason


def test_xid_errors_are_those_since_the_window_before(tmp_path: Path) -> None:
    assert use(tmp_path, {}, {"xid-count": 2, "xid": 31})["xid_errors"] == [31, 31]
    assert use(tmp_path / "many", {"xid-count": 9}, {"xid-count": 300})["xid_errors"] == [79] * MAX_ERRORS
    absent = use(tmp_path / "older", {}, {}, without=("XID",))
    assert "NVML reports no events" in absent["xid_errors"]["reason"]


_OTHERS = """
import json, sys, msgspec
from levelfield.machine.device_use import Device
with Device(0) as device:
    print(json.dumps(msgspec.to_builtins(device.others(json.loads(sys.argv[1])))))
"""


@pytest.mark.parametrize(
    ("there", "own", "expected"),
    [
        ({"pid": 7, "other-pid": 9, "other-bytes": 3 << 30}, [7], {"9": 3 << 30}),
        ({"pid": 7, "other-pid": 9}, [7, 9], {}),
        ({"other-pid": 9}, [7], None),  # NVML counts otherwise: the one that is listed may be our own
    ],
)
def test_processes_of_others(
    there: dict[str, int], own: list[int], expected: dict[str, int] | None, tmp_path: Path
) -> None:
    library = compile_library(tmp_path / "nvml")
    (tmp_path / "now").write_text("".join(f"{name}={value}\n" for name, value in there.items()), encoding="utf-8")
    variables = {"FAKE_NVML": str(tmp_path / "now"), **environment(library)}
    found = json.loads(python(_OTHERS, json.dumps(own), **variables))
    assert found == expected if expected is not None else "namespace" in found["reason"]
