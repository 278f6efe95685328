"""The padding trial: a generation measured by canaries, and records whose findings follow from the launches."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from studies.padding.command import TOGETHER, generation, main
from studies.padding.findings import analyse, markdown
from studies.padding.record import Trial
from studies.record import read, write
from studies.tests.padding.test_findings import made_up
from suite.errors import LevelfieldError
from suite.machine.signals import Signals
from suite.schedule.rounds import Pace
from tests import canaries

RECORDS = sorted((Path(__file__).parents[3] / "reports/trials").glob("padding-*.json"))


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(LevelfieldError, match="is not a record of the padding trial"):
        read(tmp_path / "no.json", Trial)


def test_a_record_is_analysed_written_and_read_again(tmp_path: Path) -> None:
    trial = Trial(
        schema=1,
        started="2026-11-24T00:00:00Z",
        finished="2026-11-24T00:05:00Z",
        tool_version="1",
        seed=3,
        machine={"kernel": {"address randomisation": 2}},
        images=(),
        artifacts=(),
        load_before=os.getloadavg(),
        load_after=os.getloadavg(),
        launcher="docker",
        cells=(made_up(10, {"fixed": 0.01, "random": 0.03}),),
    )
    analysed = analyse(trial)
    write(trial, tmp_path / "padding.json")
    done = CliRunner().invoke(main, ["--analyse", str(tmp_path / "padding.json")])
    assert done.exit_code == 0, done.output
    assert read(tmp_path / "padding.json", Trial) == analysed
    text = (tmp_path / "padding.md").read_text()
    assert text == markdown(analysed)
    assert "padding adds variance" in text
    assert "kernel.randomize_va_space: 2" in text


def _leaves(value: Any) -> Iterator[Any]:
    """Yield names and values of nested dicts and sequences, in their order."""
    if isinstance(value, dict | list | tuple):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield name
            yield from _leaves(each)
    else:
        yield value


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_committed_findings_follow_from_the_committed_launches(path: Path) -> None:
    trial = read(path, Trial)
    again = analyse(trial)
    # To rounding: in which order a correlation is summed depends on the processor.
    found, stored = (list(_leaves(msgspec.to_builtins(each.findings))) for each in (again, trial))
    assert found == [pytest.approx(leaf, rel=1e-12) if isinstance(leaf, float) else leaf for leaf in stored]
    assert markdown(again) == path.with_suffix(".md").read_text()


@pytest.mark.alone
def test_half_of_the_launches_are_padded_and_all_take_turns() -> None:
    made = canaries.plan("latency")
    (block,) = made.blocks
    resources = canaries.site(made)
    with Signals(resources.cpus) as signals:
        taken = generation(resources, block.case, block.arms[0], Pace(2, 5_000_000, 3, 0), signals, "7/canary/0")
    assert not canaries.workers()
    assert [row.treatment for row in taken.launches] == ["fixed"] * TOGETHER + ["random"] * TOGETHER
    assert {row.padding_bytes for row in taken.launches[:TOGETHER]} == {0}
    lengths = [row.padding_bytes for row in taken.launches[TOGETHER:]]
    assert len(set(lengths)) == TOGETHER
    assert 0 <= min(lengths) <= max(lengths) <= 4095
    assert all(len(row.windows_ns) == 2 and min(row.windows_ns) > 0 for row in taken.launches)
    assert len(taken.disturbed) == 2
