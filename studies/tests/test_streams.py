"""Streams: the plan, the rule of `ab` on them, and runs that were cut off."""

import math
from pathlib import Path

import msgspec
import pytest

from levelfield.compare.ab import judge_arms
from levelfield.compare.types import Gate
from levelfield.record import journal
from levelfield.record.files import JOURNAL
from levelfield.record.schema import Run
from levelfield.statistics.verdicts import Verdict
from studies import streams
from studies.commands import read
from studies.streams import Level, Pair, Streams, Taken, stream_of
from tests.analysis.probed import probed
from tests.commands import ROOT
from tests.compare import pairs
from tests.known import known

PUBLISHED = sorted((ROOT / "reports" / "trials").glob("streams-*.json"))
SECONDS = dict.fromkeys(range(8), 10.0)


def pair(ratios: list[float | None], seconds: float = 10.0) -> Pair:
    """Return a pair with these log ratios; None: the second arm has no calm window."""
    first = Level(10.0, 10.0, 2, 2)
    seconds_of = [Level(None, 10.2, 0, 2) if each is None else Level(10 + each, 10.2, 2, 2) for each in ratios]
    return Pair("openvino", 0.0, tuple(Taken(seconds, first, second) for second in seconds_of))


def measured(factor: float) -> Run:
    """Return `ab` of two arms: a third of the windows is contended, and all of one launch."""
    run = probed(
        pairs.run(factor, spread=0.5, models=("mlp",), scenarios=("latency",), generations=8),
        lambda generation, number, arm: (
            "contended" if (generation + number) % 3 == 0 or (generation == 1 and arm == pairs.B.id) else "calm",
        ),
        {pairs.B.id: 1.5},
    )
    return msgspec.structs.replace(run, settings=msgspec.structs.replace(run.settings, ends_on_verdict=True))


def cut(run: Run, generations: int) -> Run:
    (block,) = run.blocks
    block = msgspec.structs.replace(block, generations=block.generations[:generations])
    return msgspec.structs.replace(run, blocks=(block,))


def test_every_slowdown_has_a_pair_of_its_own() -> None:
    (block,) = streams.planned("mlp").blocks
    assert len({arm.id for arm in block.arms}) == len(block.arms) == 16
    assert [arm.inject for arm in block.arms[8:]] == ["", "", "", "1%", "", "2%", "", "5%"]


@pytest.mark.parametrize("factor", [1.0, 1.01, 1.02, 1.05])
def test_a_decision_is_that_of_ab(factor: float) -> None:
    run = measured(factor)
    stream = known(stream_of(run, SECONDS))
    for generations in range(4, 9):
        (row,) = judge_arms(cut(run, generations), pairs.A, pairs.B, Gate())
        found = streams.decide(stream.pairs[0].generations[:generations], states=True)
        assert (found.verdict if found else "undecided") == (
            row.outcome if row.outcome == "undecided" else row.verdict.value
        )


def test_without_states_contended_windows_count() -> None:
    stream = known(stream_of(measured(1.0), SECONDS))
    assert stream.calm_share == pytest.approx(2 / 3, abs=0.1)
    launch = stream.pairs[0].generations[0].second
    assert known(launch.every) > known(launch.calm) + 0.01
    assert launch.calm_windows < launch.windows


def test_decisions_share_no_generation_and_the_last_may_be_cut_off() -> None:
    steady = [math.log(1.05) + 0.001 * (-1) ** number for number in range(10)]
    made, cut_off = streams.decisions(pair([*steady]), states=True)
    assert [(each.verdict, each.generations) for each in made] == [(Verdict.SLOWER, 4)] * 2
    assert cut_off
    assert not streams.decisions(pair([*steady[:8]]), states=True)[1]


@pytest.mark.parametrize(
    ("stream", "verdict", "generations"),
    [
        (pair([0.001, -0.001] * 8, seconds=4), Verdict.SAME, 8),  # the first look is as late as that of `ab`
        (pair([0.5, -0.5] * (streams.BUDGET // 2)), Verdict.UNDECIDED, streams.BUDGET),
        (pair([None, None, 0.0, 0.0, None]), None, None),  # an arm without calm windows is judged by all
    ],
)
def test_when_a_decision_ends(stream: Pair, verdict: Verdict | None, generations: int | None) -> None:
    (decision, *_), _ = streams.decisions(stream, states=True)
    if verdict is None:
        assert decision.log_ratio == pytest.approx(0.2)
    else:
        assert (decision.verdict, decision.generations) == (verdict, generations)


@pytest.mark.parametrize(("effect", "false"), [(0.0, "slower faster"), (0.01, "faster"), (0.02, "same faster")])
def test_what_is_wrong(effect: float, false: str) -> None:
    assert {verdict for verdict in Verdict if streams.is_wrong(verdict, effect)} == set(false.split())


def test_complete_generations_of_a_run_that_was_cut_off_are_added_once(tmp_path: Path) -> None:
    run = cut(measured(1.0), 3)
    (block,) = run.blocks
    folder, out = tmp_path / "streams.unfinished", tmp_path / "streams.json"
    record = Streams(schema=Streams.SCHEMA, case=block.case.id)
    for _ in range(2):
        (folder / run.id).mkdir(parents=True)
        with journal.Journal(folder / run.id / JOURNAL) as written:
            written.write(journal.Started(cut(run, 0)))
            for number, generation in enumerate(block.generations):
                written.write(journal.GenerationBegun(block.case.id, number, generation.seed))
                for one in generation.rounds:
                    for turn in one.turns:
                        written.write(journal.TurnTaken(block.case.id, number, one.index, turn))
                    written.write(journal.RoundDone(block.case.id, number, one.index))
                written.write(journal.TimeSpent({"preparing": 99.0, "windows": 10.0}))
                if number < 2:
                    written.write(journal.GenerationDone(block.case.id, number))
        record = streams.collect(record, folder, out)
        assert not folder.exists()
        assert read(out, Streams) == record
    (stream,) = record.streams
    assert [each.seconds for each in stream.pairs[0].generations] == [10.0] * 2


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_the_published_tables_are_those_of_the_record(path: Path) -> None:
    assert path.with_suffix(".md").read_text(encoding="utf-8") == streams.markdown(read(path, Streams))
