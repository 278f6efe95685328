"""`ab`'s rule replayed and simulated: decisions share no launch, and the level is kept."""

from pathlib import Path

import numpy as np
import pytest

from studies.record import write
from studies.rigor import rules
from studies.rigor.ours import as_ab, until_verdict
from studies.rigor.sequential import BUDGETS, EFFECTS, simulate, trial, verdicts
from studies.rigor.sequential_record import Noise, Source, Spread, Windows, markdown
from studies.tests.rigor.streams import Machine, table, two_frameworks

_, FROZEN = rules.newest()
SPREAD = Spread(Windows.COUNTED, 0.008, 0.02, 0.05)
QUIET = Source("made up", "", "onnxruntime", 0.0, 85, 6, 5, 0.8, 0.3, 38, (SPREAD,), 0.03, 0.0, 0.1)


@pytest.mark.parametrize("most", [6, 12])
def test_decisions_share_no_launch_and_end_with_a_verdict_or_the_budget(most: int) -> None:
    found = until_verdict(table(Machine(window=0.05), generations=31), FROZEN, 1.0, most)
    for lane in range(6):
        chain = [each for each in found if each.lane == lane]
        assert [each.first for each in chain] == [0, *(each.end for each in chain[:-1])]
        assert chain[-1].end > 31 - most
    assert all(4 <= each.generations <= most for each in found)
    assert all(each.generations == most for each in found if each.answer == "inconclusive")


@pytest.mark.parametrize("effect", EFFECTS)
def test_the_first_verdict_is_that_of_asking_after_every_generation(effect: float) -> None:
    draw = np.random.default_rng(5)
    levels = 0.02 * draw.standard_normal((40, 20, 2)) + np.array([0.0, np.log1p(effect)])
    for each, end, answer in zip(levels, *verdicts(levels, FROZEN), strict=True):
        answers = [as_ab(each[:count], FROZEN) for count in range(4, 21)]
        decided = [count for count, said in enumerate(answers, 4) if said != "inconclusive"]
        assert end == (decided[0] if decided else 20)
        assert answer == answers[end - 4]


@pytest.mark.parametrize("noise", Noise)
def test_simulated_false_alarms_keep_the_level(noise: Noise) -> None:
    found = simulate(QUIET, SPREAD, noise, FROZEN, seed=3, decisions=2_000)
    still, _, _, _, ten = found.counted
    assert still.tally.wanted is not None
    assert still.tally.wanted.low <= FROZEN.judge.ab_false_discovery_rate
    assert ten.tally.slower / ten.tally.decisions >= 0.98


def test_the_trial_replays_every_framework_with_every_budget(tmp_path: Path) -> None:
    path = tmp_path / "rigor-made.json"
    write(two_frameworks(), path)
    found = trial([path], seed=1, simulated=20)
    assert [each.backend for each in found.sources] == ["onnxruntime", "openvino"]
    assert len(found.replays) == len(BUDGETS) * 4  # two sources, the quiet ones, all
    for replay in found.replays:
        assert [each.tally.effect for each in replay.counted] == list(EFFECTS)
    by_name = {each.source: each for each in found.replays if each.budget_generations == BUDGETS[0]}
    parts = [by_name[each.name].counted[0].tally for each in found.sources]
    together = by_name["all"].counted[0].tally
    assert together.decisions == sum(each.decisions for each in parts)
    assert together.clusters == sum(each.clusters for each in parts)
    assert len(found.simulations) == 2 * len(Windows) * len(Noise)
    assert markdown(found).count("## ") == len(BUDGETS) + 2
    assert trial([path], seed=1, simulated=20).simulations == found.simulations
