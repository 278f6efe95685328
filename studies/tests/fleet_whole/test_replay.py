"""Records are replayed as nodes: one arm of two, scaled, and judged by the command."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from studies.fleet_whole import replay
from studies.fleet_whole.replay import ARM, SECOND
from suite.plan import CANARY
from suite.record import files
from suite.record.schema import Run, Turn, Window
from tests.compare.runs import run

EFFECT = 1.4
CASE = "mlp/latency/fp32/b1/t2/cpu"


def of_turns(record: Run, change: Callable[[Turn], Turn]) -> Run:
    replaced = msgspec.structs.replace
    return replaced(
        record,
        blocks=tuple(
            replaced(
                block,
                generations=tuple(
                    replaced(
                        one, rounds=tuple(replaced(each, turns=tuple(map(change, each.turns))) for each in one.rounds)
                    )
                    for one in block.generations
                ),
            )
            for block in record.blocks
        ),
    )


def slower(turn: Turn) -> Turn:
    if turn.arm != SECOND or turn.window is None:
        return turn
    samples = tuple(round(EFFECT * each) for each in turn.window.samples_ns)
    return msgspec.structs.replace(turn, window=msgspec.structs.replace(turn.window, samples_ns=samples))


@pytest.fixture(scope="module")
def contents() -> list[bytes]:
    """Records of a machine that drifts, in which an arm stands twice, and is slower the second time."""
    found = []
    for number in range(5):
        record = run(f"run-{number}", number, backends=[ARM], control=ARM, noise_scale=0.3, max_calls=5)
        drift = 1 + number / 20
        content = msgspec.json.encode(of_turns(record, slower))
        found.append(replay.scaled(content, record.id, {CASE: drift, CANARY: drift}))
    return found


def windows(content: bytes, arm: str) -> list[Window]:
    record = files.decode(content, "a record")
    return [
        turn.window
        for block in record.blocks
        for generation in block.generations
        for each in generation.rounds
        for turn in each.turns
        if turn.arm == arm and turn.window is not None
    ]


def test_a_record_with_one_arm_has_that_arm_s_windows_and_the_canary_s(contents: list[bytes]) -> None:
    canary = files.decode(contents[0], "a record").blocks[0].canary
    assert canary is not None
    for arm in (ARM, SECOND):
        alone = replay.with_arm(contents[0], arm)
        (block,) = files.decode(alone, "a record").blocks
        assert [each.id for each in block.arms] == [ARM]
        assert {each.arm for one in block.generations for each in one.launches} == {ARM, canary}
        assert windows(alone, ARM) == windows(contents[0], arm)
        assert windows(alone, canary) == windows(contents[0], canary)
        assert windows(alone, SECOND) == []


def test_windows_are_scaled_and_the_canary_s_by_its_own_factor(contents: list[bytes]) -> None:
    made = replay.scaled(replay.with_arm(contents[0], ARM), "another", {CASE: 2.0, CANARY: 1.0})
    assert files.decode(made, "a record").id == "another"
    before, after = windows(contents[0], ARM)[0], windows(made, ARM)[0]
    assert after.samples_ns == tuple(2 * each for each in before.samples_ns)
    assert after.window_ns == 2 * before.window_ns
    canary = files.decode(contents[0], "a record").blocks[0].canary
    assert canary is not None
    assert windows(made, canary) == windows(contents[0], canary)


def test_with_drift_taken_off_all_runs_have_one_level_and_the_slowdown_is_left(
    contents: list[bytes], tmp_path: Path
) -> None:
    (steady,) = replay.without_drift({EFFECT - 1: contents}).values()
    found = {}
    for arm in (ARM, SECOND):
        drifting, level = (
            [
                np.log(each[CASE])
                for each in replay.costs([replay.with_arm(one, arm) for one in records], tmp_path / name)
            ]
            for records, name in ((contents, f"drifting-{arm}"), (steady, f"steady-{arm}"))
        )
        assert np.std(drifting) > 0.05
        assert np.std(level) < 0.02
        found[arm] = np.mean(level)
    assert np.exp(found[SECOND] - found[ARM]) == pytest.approx(EFFECT, rel=0.05)
    of_canary = [
        each[CANARY] for each in replay.costs([replay.with_arm(one, ARM) for one in steady], tmp_path / "last")
    ]
    assert of_canary == pytest.approx(of_canary[:1] * len(of_canary), rel=1e-5)


def test_a_fleet_has_a_slowed_node_with_all_its_runs_and_peers_with_as_many(contents: list[bytes]) -> None:
    first, second = ([replay.with_arm(each, arm) for each in contents] for arm in (ARM, SECOND))
    made = dict(replay.nodes("as measured", first, second[:3], np.random.default_rng(1)))
    assert list(made)[-1] == replay.SLOW_NODE
    assert len(made) == replay.NODES
    assert {len(runs) for runs in made.values()} == {3}
    assert len({files.decode(each, "a record").id for runs in made.values() for each in runs}) == 3 * replay.NODES


def test_a_node_that_is_slow_enough_is_found_by_the_command(
    contents: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "DRAWS", 1)
    found = replay.replay({EFFECT - 1: contents}, tmp_path, seed=1)
    (paired,) = found.paired.values()
    assert paired[CANARY] == 1.0
    assert paired[CASE] == pytest.approx(EFFECT, rel=0.1)
    assert [each.kind for each in found.fleets] == list(replay.KINDS)
    (calm,) = (each for each in found.fleets if each.kind == "drift taken off")
    assert calm.found
    assert calm.others_named == ()
    (result,) = (each for each in calm.results if each.result != CANARY)
    assert result.result == f"{ARM}/{CASE}"
    assert result.low is not None
    assert result.high is not None
    assert 1.0 < result.low < EFFECT < result.high
