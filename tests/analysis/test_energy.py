"""Joules an item, from the processor's own counters in the record."""

import msgspec
import pytest

from levelfield import analysis
from levelfield.analysis import hardware
from levelfield.record.schema import Absent, Noise, Run, Turn
from levelfield.report import html
from tests.records_builder import make_run, with_turns


def with_energy(run: Run, recorded: int | Absent) -> Run:
    """Give every turn so much energy a call, in microjoules."""

    def turned(turn: Turn) -> Turn:
        if turn.noise is None or turn.window is None:
            return turn
        calls = len(turn.window.samples_ns) + len(turn.window.rewarm_ns)
        spent = recorded if isinstance(recorded, Absent) else recorded * calls
        return msgspec.structs.replace(turn, noise=msgspec.structs.replace(turn.noise, package_energy_uj=spent))

    return with_turns(run, turned)


@pytest.fixture
def run() -> Run:
    return make_run(models=("mlp",), backends=("torch", "jax"), scenarios=("latency", "throughput", "memory"))


def test_where_nobody_told_there_is_nothing(run: Run) -> None:
    assert hardware.energies(run) == ()
    assert hardware.energies(with_energy(run, Absent("virtual"))) == ()
    assert 'id="energy"' not in html.render(run, analysis.analyse(run))


def test_energy_is_divided_by_items_warming_calls_among_them(run: Run) -> None:
    blocks = {block.case.scenario: block for block in hardware.energies(with_energy(run, 50_000))}
    assert set(blocks) == {"latency", "throughput"}
    for block in blocks.values():
        assert [row.arm for row in block.rows] == ["torch", "jax"], "the canary is no answer"
        for row in block.rows:
            assert row.per_item_j == pytest.approx(0.05 / block.case.batch)
            assert row.items_per_joule == pytest.approx(block.case.batch / 0.05)
            assert isinstance(row.power_w, float)
            assert row.power_w > 0


def test_mean_power_is_energy_over_time(run: Run) -> None:
    recorded = with_energy(run, 50_000)
    row = hardware.energies(recorded)[0].rows[0]
    noises: list[Noise] = [turn.noise for turn in hardware.counted(recorded.blocks[0], "torch") if turn.noise]
    spent = sum(each.package_energy_uj for each in noises if isinstance(each.package_energy_uj, int))
    assert row.power_w == pytest.approx(spent / 1e6 / (sum(each.elapsed_ns for each in noises) / 1e9))


def test_a_counter_that_stood_still_is_no_zero(run: Run) -> None:
    row = hardware.energies(with_energy(run, 0))[0].rows[0]
    assert row.per_item_j == Absent("the energy counter did not move")
