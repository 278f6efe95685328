"""Results by the state of the machine: what is compared, what stands beside it, and what is said where calm is rare."""

import doctest

import msgspec
import pytest

from levelfield.analysis import analyse, machine
from levelfield.analysis.launch_levels import by_state, launch_levels
from levelfield.record import files
from levelfield.record.schema import Absent, Block, Run
from levelfield.record.states import State
from levelfield.report import states as words
from tests.analysis.changed import exact, rows
from tests.analysis.probed import BUSY, CALM, probed
from tests.known import known
from tests.records_builder import make_run

BACKENDS = ("openvino", "jax", "torch")


def run(**changes: object) -> Run:
    return exact(backends=BACKENDS, scenarios=("latency",), generations=6, rounds=3, **changes)


def alternating(generation: int, number: int, _arm: str) -> tuple[State, ...]:
    """In every second round the machine is contended at first, and the window is taken again."""
    return ("contended", "calm") if (generation + number) % 2 else ("calm",)


TRUE = rows(analyse(run()))


def block_of(found: Run) -> Block:
    return found.blocks[0]


def test_ratios_and_times_are_of_calm_windows() -> None:
    found = rows(analyse(probed(run(), alternating, {"openvino": 1.6, "jax": 1.1})))
    for arm, row in found.items():
        assert row.windows_of == "calm"
        assert known(row.call_ns).value == pytest.approx(TRUE[arm].call_ns.value, rel=1e-6)  # type: ignore[union-attr]
        assert known(row.ratio).value == pytest.approx(TRUE[arm].ratio.value, rel=1e-6)  # type: ignore[union-attr]
        assert row.counts.windows == 18
        assert row.counts.windows_not_calm == len(row.not_calm) == 9


def test_the_ratio_when_contended_stands_beside_it() -> None:
    analysis = analyse(probed(run(), alternating, {"openvino": 1.1, "jax": 1.1, "torch": 1.65}))
    (block,) = analysis.timed
    by_arm = rows(analysis)
    assert block.best == "openvino"
    assert by_arm["openvino"].contended is None
    contended, calm = by_arm["torch"].contended, by_arm["torch"].ratio
    assert contended is not None
    assert contended.value == pytest.approx(1.5 * known(calm).value, rel=1e-4)
    assert contended.low is not None
    assert by_arm["jax"].contended == pytest.approx(by_arm["jax"].contended)
    assert known(block.states).calm == 54
    assert words.contended(by_arm["torch"]).startswith("3.31× (")


def test_arms_that_are_faster_when_contended_are_named() -> None:
    analysis = analyse(probed(run(), alternating, {"openvino": 9.0}))
    (block,) = analysis.timed
    assert block.best == "openvino"
    assert set(known(block.states).ranks_differ) == {"jax", "torch"}
    assert words.of_case(block, analysis) == "When a neighbour is busy, jax and torch are faster than openvino."
    assert "except" not in words.sentence(analysis)


def long_windows(generation: int, number: int, arm: str) -> tuple[State, ...]:
    """Torch's windows are longer than a calm spell."""
    return ("unsettled", "unsettled") if arm == "torch" else alternating(generation, number, arm)


def test_where_an_arm_has_no_calm_windows_all_are_ranked_by_all_windows_and_the_page_says_so() -> None:
    analysis = analyse(probed(run(), long_windows, {"openvino": 1.2, "torch": 1.2, "jax": 1.2}))
    by_arm = rows(analysis)
    assert [by_arm[arm].windows_of for arm in BACKENDS] == ["all"] * 3
    assert by_arm["torch"].rank is not None
    # Of all windows of both: torch's are 1.2 times as long, the best's in a third of them.
    mixed = by_arm["torch"].ratio.value / TRUE["torch"].ratio.value  # type: ignore[union-attr]
    assert 1.0 < mixed < 1.2
    assert not words.of_case(analysis.timed[0], analysis), "the run's sentence says it"
    assert "too few were calm both before and after them" in words.sentence(analysis)


def test_a_leading_arm_without_calm_windows_leads() -> None:
    """It was once called equal to the best of the others."""

    def never(_generation: int, _number: int, arm: str) -> tuple[State, ...]:
        return ("contended",) if arm == "openvino" else ("calm",)

    by_arm = rows(analyse(probed(run(), never, {})))
    assert by_arm["openvino"].rank == 1
    leading = known(by_arm["openvino"].call_ns)
    for arm in ("jax", "torch"):
        row = by_arm[arm]
        assert known(row.ratio).value == pytest.approx(known(row.call_ns).value / leading.value, rel=1e-6)


def test_two_arms_are_never_compared_across_states() -> None:
    """What the schedule and `ab` decide by is of one kind of windows for all arms."""
    starved = block_of(probed(run(), long_windows, {"torch": 1.2}))
    assert by_state(starved).starved == {"torch"}
    assert by_state(starved).compared.windows == "all"
    calm = block_of(probed(run(), alternating))
    assert by_state(calm).compared.windows == "calm"
    assert launch_levels(calm).keys() == set(BACKENDS)


def test_a_time_is_of_the_launches_that_its_ratio_is_of() -> None:
    """In the last launch the leading arm has no calm window; the other arm's launch there is slower."""

    def late(generation: int, _number: int, arm: str) -> tuple[State, ...]:
        return ("contended",) if generation == 5 and arm == "openvino" else ("calm",)

    made = msgspec.to_builtins(probed(run(), late))
    for round_ in made["blocks"][0]["generations"][5]["rounds"]:
        for turn in round_["turns"]:
            if turn["arm"] == "torch":
                turn["window"]["samples_ns"] = [2 * each for each in turn["window"]["samples_ns"]]
    found = rows(analyse(msgspec.convert(made, Run)))["torch"]
    assert found.call_ns is not None
    assert found.call_ns.value == pytest.approx(TRUE["torch"].call_ns.value, rel=1e-6)  # type: ignore[union-attr]
    assert found.ratio.value == pytest.approx(TRUE["torch"].ratio.value, rel=1e-6)  # type: ignore[union-attr]


def test_a_machine_that_is_contended_all_the_time_is_called_so_and_everything_counts() -> None:
    looked = (CALM,) * 20 + (BUSY,) * 80
    found = analyse(probed(run(), lambda *_: ("contended",), {"torch": 1.2}, looked=looked))
    row = rows(found)["torch"]
    assert (row.windows_of, row.counts.windows) == ("contended throughout", 18)
    assert row.ratio.value == pytest.approx(1.2 * TRUE["torch"].ratio.value, rel=1e-6)  # type: ignore[union-attr]


def test_a_run_that_saw_one_state_never_says_calm() -> None:
    found = analyse(probed(run(), lambda *_: ("calm",), looked=(CALM,) * 90))
    assert rows(found)["torch"].windows_of == "one state"
    assert "calm" not in words.sentence(found)


def test_a_run_in_the_contended_state_alone_is_told_so_by_earlier_ones() -> None:
    found = analyse(probed(run(), lambda *_: ("contended",), looked=(BUSY,) * 90, kept=CALM))
    assert rows(found)["torch"].windows_of == "all"


def test_without_probes_everything_is_as_it_was() -> None:
    found = analyse(run())
    assert found.timed[0].states is None
    assert {row.windows_of for row in TRUE.values()} == {""}
    assert found.states == Absent("an earlier version did not probe it")


@pytest.mark.parametrize(
    ("attempts", "says"), [(9, "a window that was taken 9 times"), (2, "two turns of a round of one name")]
)
def test_no_window_is_taken_again_without_end_or_without_a_probe(attempts: int, says: str) -> None:
    busy: State = "contended"
    made = probed(run(), lambda *_: (busy,) * attempts)
    if attempts == 2:
        plain = msgspec.to_builtins(made)
        for turn in plain["blocks"][0]["generations"][0]["rounds"][0]["turns"]:
            turn["probed_after"] = None
        made = msgspec.convert(plain, Run)
    with pytest.raises(Exception, match=says):
        files.check(made, "run.json")


def test_the_canary_shows_a_machine_that_slowed_down() -> None:
    run = make_run(models=("resnet50",), scenarios=("latency",), noise_scale=0.0, rounds=2, generations=18)
    builtins = msgspec.to_builtins(run)
    for index, generation in enumerate(builtins["blocks"][0]["generations"]):
        for round_ in generation["rounds"]:
            for turn in round_["turns"]:
                turn["window"]["samples_ns"] = [int(ns * 1.05**index) for ns in turn["window"]["samples_ns"]]
    analysis = analyse(msgspec.convert(builtins, Run))
    assert analysis.canary is not None
    assert len(analysis.canary.points) == 18
    assert analysis.canary.spread == pytest.approx(1.05**17 - 1, rel=1e-3)
    assert analysis.canary.drift == pytest.approx(1.05**12 - 1, rel=1e-3)
    assert "machine-moved" in [warning.code for warning in analysis.warnings]
    assert [row.arm for row in analysis.timed[0].rows if row.rank == 1] == ["openvino"]  # ratios hold all the same


def test_noise_is_a_share_of_a_core_and_absent_where_it_was_not_read() -> None:
    run = make_run(models=("mlp",), scenarios=("latency",), rounds=2, generations=1)
    builtins = msgspec.to_builtins(run)
    for round_ in builtins["blocks"][0]["generations"][0]["rounds"]:
        for turn in round_["turns"]:
            turn["noise"] |= {"steal_ns": {"type": "absent", "reason": "not a guest"}, "others_ns": 100_000_000}
    noise = known(analyse(msgspec.convert(builtins, Run)).noise)
    assert noise.steal_share == Absent("not a guest")
    assert noise.others_share == pytest.approx(0.1 / 0.4)


def test_examples_in_docstrings_hold() -> None:
    assert doctest.testmod(machine).failed == 0
