"""The trial of upgrades: its draws, its searches, and what its tables hold."""

import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from studies.bracket import command
from studies.bracket.draws import BAD_BOOTS, STEPS, Noise, Setting, Trouble, draw, phases, tally
from studies.bracket.record import Record, markdown
from studies.bracket.simulate import Found
from studies.record import read


@pytest.mark.parametrize("noise", Noise)
def test_boots_have_variance_one_and_half_of_it_in_common(noise: Noise) -> None:
    drawn = draw(np.random.default_rng(1), 40_000, 2, 2, noise).reshape(-1, 2)
    middle = np.abs(drawn) < 20  # of heavy tails, whose sample variance converges slowly
    clipped = np.where(middle, drawn, 0)
    assert clipped.var() == pytest.approx(1, abs=0.08)
    assert np.corrcoef(clipped.T)[0, 1] == pytest.approx(0.5, abs=0.08)


@pytest.mark.parametrize("trouble", Trouble)
def test_troubles_are_where_their_names_say(trouble: Trouble) -> None:
    boots = 4
    quiet = Setting(boots, spread=0.0, trouble=trouble, size=0.1)
    made = phases(np.zeros((3, boots, 500, 1)), quiet, np.random.default_rng(2)).means[..., 0] / math.log(1.1)
    expected = {
        Trouble.NONE: (0, 0, 0),
        Trouble.STEP_BEFORE_NEW: (0, 1, 1),
        Trouble.STEP_WITHIN_NEW: (0, 0.5, 1),
        Trouble.STEP_AFTER_NEW: (0, 0, 1),
        Trouble.BAD_BEFORE: (0.25, 0, 0),
        Trouble.BAD_NEW: (0, 0.25, 0),
        Trouble.BAD_AFTER: (0, 0, 0.25),
    }
    if trouble in expected:
        assert np.allclose(made, np.array(expected[trouble])[:, None])
    elif trouble is Trouble.RAMP:
        assert np.allclose(np.diff(made, axis=0), 0.5)
    else:
        assert (np.diff(made, axis=0) >= 0).all()
        assert len(np.unique(made, axis=1).T) == 3 * boots - 1
    assert set(STEPS) | set(BAD_BOOTS) | {Trouble.NONE, Trouble.RAMP} == set(Trouble)


def test_an_effect_is_in_the_new_stack_of_the_changed_cases() -> None:
    setting = Setting(3, 4, spread=0.0, effect=0.05, changed=2)
    made = phases(np.zeros((3, 3, 1, 4)), setting, np.random.default_rng(0)).means[:, 0]
    assert np.allclose(made / math.log(1.05), [[0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]])


def test_more_is_found_where_the_slowdown_is_larger_and_the_spread_smaller() -> None:
    found = Found(3, 2, 400, 1)
    assert found.share(0.01, 0.02) < found.share(0.01, 0.05) < found.share(0.005, 0.05)


@pytest.mark.extended
def test_the_command_writes_a_record_and_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "bracket.json"
    done = CliRunner().invoke(command.main, ["--upgrades", "10", "--seed", "3", "--out", str(path)])
    assert done.exit_code == 0, done.output
    record = read(path, Record)
    assert {each.setting.trouble for each in record.drifts} == set(Trouble) - {Trouble.NONE}
    assert path.with_suffix(".md").read_text(encoding="utf-8") == markdown(record)
    assert markdown(record).count("## ") == 6


def test_a_tally_follows_from_its_seed() -> None:
    setting = Setting(3, 2, 0.01, effect=0.03)
    assert tally(setting, 200, 1) == tally(setting, 200, 1) != tally(setting, 200, 2)
