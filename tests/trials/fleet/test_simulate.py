"""The trial of fleets: its draws, and what its tables hold."""

import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from suite.statistics.peers import DISTANCE
from suite.trials.fleet import command, shapes
from suite.trials.fleet.draws import Noise, Setting, draw, tally
from suite.trials.fleet.record import Record, markdown
from suite.trials.fleet.simulate import PEERS, of_size
from suite.trials.record import read


@pytest.mark.parametrize("noise", Noise)
def test_nodes_and_runs_have_their_variances(noise: Noise) -> None:
    setting = Setting(50, 2, 6, node_sd=0.03, run_sd=0.01, noise=noise, shared=0.8)
    drawn = draw(np.random.default_rng(1), 400, setting).reshape(50, 6, 400, 2)
    assert drawn.var(axis=1, ddof=1).mean() == pytest.approx(1e-4, rel=0.2)
    levels = drawn.mean(axis=1)
    assert levels.var(axis=0, ddof=1).mean() == pytest.approx(9e-4 + 1e-4 / 6, rel=0.1)
    assert np.corrcoef(levels[..., 0].ravel(), levels[..., 1].ravel())[0, 1] == pytest.approx(0.8, abs=0.05)


def test_an_effect_is_in_the_slow_nodes_and_their_cases() -> None:
    setting = Setting(4, 3, 2, node_sd=0.0, run_sd=0.0, slow=2, effect=0.1, slow_cases=1)
    drawn = draw(np.random.default_rng(0), 1, setting)
    assert drawn[:, 0] / math.log(1.1) == pytest.approx(np.array([[1, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]]))
    paired = Setting(4, 3, 2, node_sd=0.0, run_sd=0.0, slow=1, effect=0.1, paired=True)
    assert not draw(np.random.default_rng(0), 1, paired).any()
    assert draw(np.random.default_rng(0), 1, paired).shape == (4, 2, 2)


@pytest.mark.parametrize("peers", [4, 9])
def test_tails_given_the_shape_are_those_of_plain_draws(peers: int) -> None:
    rng = np.random.default_rng(peers)
    given = shapes.draw(rng, peers, 50_000)
    values = rng.standard_normal((400_000, peers))
    own = rng.standard_normal(400_000)
    first, second = np.triu_indices(peers, 1)
    distances = np.sort(np.abs(values[:, first] - values[:, second]), axis=1)[:, first.size // 2] / DISTANCE
    distance = (own - np.median(values, axis=1)) / distances
    for limit in (1.0, 3.0, 5.0):
        assert given.beyond(limit) == pytest.approx((distance > limit).mean(), rel=0.05)
    assert given.beyond(given.limit(1e-4)) == pytest.approx(1e-4, rel=1e-3)


def test_a_tally_follows_from_its_seed() -> None:
    setting = Setting(6, 2, slow=1, effect=0.1)
    assert tally(setting, 100, 1) == tally(setting, 100, 1) != tally(setting, 100, 2)
    assert of_size(2000, Setting(1000, 30)) == 40
    assert of_size(2000, setting) == 2000


@pytest.mark.extended
def test_the_command_writes_a_record_and_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "fleet.json"
    done = CliRunner().invoke(command.main, ["--fleets", "10", "--seed", "3", "--out", str(path)])
    assert done.exit_code == 0, done.output
    record = read(path, Record)
    assert {each.peers for each in record.fits} == set(PEERS)
    assert path.with_suffix(".md").read_text(encoding="utf-8") == markdown(record)
    assert markdown(record).count("## ") == 8
