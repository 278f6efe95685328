"""What the GPU did, from the record: per arm, absent with a reason, on the page and among the warnings."""

import msgspec
import pytest

from levelfield import analysis
from levelfield.analysis import hardware
from levelfield.record.schema import Absent, DeviceUse, Run, Turn
from levelfield.report import html
from tests.records_builder import make_run, with_turns

ELAPSED_NS = 600_000_000


def use(turn: Turn, **changed: int | tuple[str, ...] | tuple[int, ...] | Absent) -> Turn:
    assert turn.window is not None
    calls = len(turn.window.samples_ns) + len(turn.window.rewarm_ns)
    recorded = DeviceUse(
        elapsed_ns=ELAPSED_NS,
        energy_mj=50 * calls,
        power_mw=300_000,
        utilisation_percent=90,
        memory_utilisation_percent=40,
        sm_clock_mhz=1980,
        memory_clock_mhz=2619,
        temperature_c=50,
        throttled=(),
        memory_bytes=1 << 30,
        ecc_errors=0,
    )
    return msgspec.structs.replace(turn, device=msgspec.structs.replace(recorded, **changed))


def on_gpu(run: Run, **changed: int | tuple[str, ...] | tuple[int, ...] | Absent) -> Run:
    """Give every window of a run the same company of a GPU; the second arm's differs by `changed`."""

    def turned(turn: Turn) -> Turn:
        return use(turn, **(changed if turn.arm == "jax" else {})) if turn.window is not None else turn

    return with_turns(run, turned)


@pytest.fixture
def run() -> Run:
    return make_run(models=("mlp",), backends=("torch", "jax"), scenarios=("latency", "throughput"))


def test_a_run_on_the_cpu_has_none(run: Run) -> None:
    assert hardware.devices(run) == ()
    assert 'id="gpu"' not in html.render(run, analysis.analyse(run))


def test_energy_is_divided_by_items(run: Run) -> None:
    blocks = {block.case.scenario: block for block in hardware.devices(on_gpu(run))}
    latency, throughput = blocks["latency"].rows[0], blocks["throughput"].rows[0]
    assert latency.energy_per_item_j == pytest.approx(0.05)
    assert throughput.energy_per_item_j == pytest.approx(0.05 / blocks["throughput"].case.batch)
    assert latency.items_per_joule == pytest.approx(20)
    assert latency.utilisation == 0.9
    assert (latency.sm_clock_mhz, latency.memory_clock_mhz, latency.temperature_c) == (1980, 2619, 50)
    assert latency.memory_bytes == 1 << 30
    assert isinstance(latency.allocated_bytes, Absent)
    assert {row.arm for row in blocks["latency"].rows} <= {arm.id for arm in run.blocks[0].arms}


def test_power_is_the_mean_by_the_energy_counter(run: Run) -> None:
    recorded = hardware.devices(on_gpu(run, energy_mj=135_000))[0].rows[1]
    assert recorded.power_w == pytest.approx(225)  # 135 J in 0.6 s, whatever NVML averaged over its last second
    assert hardware.devices(on_gpu(run, energy_mj=0))[0].rows[1].power_w == 300, (
        "a counter that stands still says nothing"
    )
    assert hardware.devices(on_gpu(run, energy_mj=Absent("none")))[0].rows[1].power_w == 300


def test_what_was_not_told_is_absent_with_its_reason(run: Run) -> None:
    why = Absent("NVML: Not Supported")
    second = hardware.devices(on_gpu(run, energy_mj=why, power_mw=why, throttled=why))[0].rows[1]
    assert (second.energy_per_item_j, second.items_per_joule, second.power_w) == (why, why, why)
    assert second.throttled == ()
    made = on_gpu(run, energy_mj=why)
    assert 'title="NVML: Not Supported">not known<' in html.render(made, analysis.analyse(made))


def test_windows_too_short_for_the_counter_have_neither_energy_nor_power(run: Run) -> None:
    found = hardware.devices(on_gpu(run, elapsed_ns=130_000_000))[0].rows[1]
    assert isinstance(found.energy_per_item_j, Absent)
    assert found.energy_per_item_j.reason.startswith("a window of 0.13 s is too short")
    assert found.power_w == found.energy_per_item_j
    still = hardware.devices(on_gpu(run, energy_mj=0))[0].rows[1]
    assert still.energy_per_item_j == Absent("the energy counter did not move")


def test_a_held_down_clock_and_memory_errors_are_warned_of(run: Run) -> None:
    throttled = on_gpu(run, throttled=("power limit",), sm_clock_mhz=1200, ecc_errors=1)
    rows = hardware.devices(throttled)[0].rows
    assert (rows[1].throttled, rows[1].throttled_windows) == (("power limit",), rows[1].windows)
    assert rows[1].sm_clock_lowest_mhz == 1200
    found = analysis.analyse(throttled)
    warned = {warning.code: warning for warning in found.warnings if warning.about == run.blocks[0].case.id}
    assert "power limit" in warned["gpu-throttled"].message
    assert "Do not trust" in warned["gpu-memory-errors"].remedy
    page = html.render(throttled, found)
    assert 'id="gpu"' in page
    assert "power limit (" in page
    assert not {"gpu-throttled", "gpu-memory-errors"} & {each.code for each in analysis.analyse(on_gpu(run)).warnings}


def test_errors_of_the_driver_are_warned_of_wherever_they_came(run: Run) -> None:
    reported = on_gpu(run, xid_errors=(31,))
    first, second = hardware.devices(reported)[0].rows
    assert isinstance(first.xid_errors, Absent), "nobody asked"
    assert isinstance(second.xid_errors, tuple)
    assert set(second.xid_errors) == {31}
    found = analysis.analyse(reported)
    (warning,) = (each for each in found.warnings if each.code == "gpu-xid" and each.about == run.blocks[0].case.id)
    assert "XID 31 (memory that is not there was asked for)" in warning.message
    assert '<span class="under">31</span>' in html.render(reported, found)
