"""Loads are compared round by round, and the round that warms the page cache does not count."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from studies.loading.command import main
from studies.loading.findings import analyse, markdown
from studies.loading.record import LIBRARY, Cell, Load, Trial
from studies.record import read
from tests.records_builder import make_machine

RECORDS = sorted((Path(__file__).parents[3] / "reports/trials").glob("loading-*.json"))


def trial(*, rounds: int, factor: float) -> Trial:
    """Return a record in which rounds differ by far more than the arm and the library."""
    loads = [Load(0, LIBRARY, 0, 10_000_000_000, 1), Load(0, "torch", 1, 1, 1)]
    for number in range(1, rounds + 1):
        load_ns = 100_000_000 * number
        loads.append(Load(number, LIBRARY, 0, load_ns, load_ns))
        loads.append(Load(number, "torch", load_ns, round(factor * load_ns), load_ns))
    cell = Cell(model="bert-1", family="bert", parameters=110_000_000, keep_ns=2_000_000_000, loads=tuple(loads))
    return Trial(
        schema=1, started="2026-11-26T10:00:00Z", finished="2026-11-26T10:00:00Z", tool_version="1", seed=1, images=(),
        artifacts=(), machine=make_machine(), load_before=(0.0, 0.0, 0.0), load_after=(0.0, 0.0, 0.0), cells=(cell,),
    )  # fmt: skip


def test_ratios_are_those_of_a_round() -> None:
    (found,) = analyse(trial(rounds=5, factor=1.1)).findings
    assert (found.arm, found.rounds) == ("torch", 5)
    assert found.load.value == pytest.approx(1.1)
    assert found.load.high == pytest.approx(1.1, rel=1e-6)
    assert found.checked.value == pytest.approx(2.1)
    assert found.called.value == pytest.approx(3.1 / 2)
    text = markdown(analyse(trial(rounds=5, factor=1.1)))
    assert "bert on torch: a load is shown to take 1.2 × or less." in text


@pytest.mark.parametrize(("rounds", "factor"), [(1, 1.1), (5, 1.3)])
def test_what_is_not_shown_is_not_claimed(rounds: int, factor: float) -> None:
    assert "bert on torch: a load is not shown to take 1.2 × or less." in markdown(
        analyse(trial(rounds=rounds, factor=factor))
    )


def test_an_arm_without_the_library_beside_it_has_no_ratio() -> None:
    made = trial(rounds=3, factor=1.0)
    cell = msgspec.structs.replace(
        made.cells[0], loads=tuple(each for each in made.cells[0].loads if each.arm != LIBRARY)
    )
    assert analyse(msgspec.structs.replace(made, cells=(cell,))).findings == ()


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_committed_findings_follow_from_the_committed_loads(path: Path, tmp_path: Path) -> None:
    found = read(path, Trial)
    assert analyse(found).findings == found.findings
    assert markdown(found) == path.with_suffix(".md").read_text()
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    assert CliRunner().invoke(main, ["--analyse", str(copy)]).exit_code == 0
