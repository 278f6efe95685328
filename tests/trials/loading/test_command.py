"""The loading trial with a real image of the library."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from suite.trials.loading.command import NETWORKS, main
from suite.trials.loading.record import LIBRARY, Trial
from suite.trials.record import read
from suite.zoo import models


def test_inputs_are_those_of_the_models() -> None:
    for family, network in NETWORKS.items():
        shapes = {(1, *each.shape) for each in models.get(family).inputs}
        assert set(network.inputs.values()) == shapes, "the library makes token types itself"


def test_another_network_is_refused(tmp_path: Path) -> None:
    ended = CliRunner().invoke(main, ["--models", "mlp", "--out", str(tmp_path / "record.json")])
    assert ended.exit_code == 2
    assert "mlp is no network of this trial. Choose from bert, resnet50." in ended.output


@pytest.mark.docker
@pytest.mark.extended
@pytest.mark.usefixtures("engine")
def test_the_library_and_an_arm_load_the_same_folder(tmp_path: Path) -> None:
    out = tmp_path / "record.json"
    ended = CliRunner().invoke(main, ["--models", "resnet50", "--rounds", "1", "--out", str(out)])
    assert ended.exit_code == 0, ended.output
    (cell,) = read(out, Trial).cells
    assert sorted((each.round, each.arm) for each in cell.loads) == sorted(
        (number, arm) for number in (0, 1) for arm in (LIBRARY, "torch", "transformers")
    )
    for each in cell.loads:
        assert each.load_ns > 0
        assert each.first_call_ns > 0
        assert (each.check_ns > 0) == (each.arm != LIBRARY)
