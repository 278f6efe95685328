"""The rigor trial as a program: records, going on, analysing anew, the competing load, and a quick run for real."""

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import psutil
import pytest
from click.testing import CliRunner

from suite.errors import LevelfieldError
from suite.trials.record import read, write
from suite.trials.rigor import rules
from suite.trials.rigor.busy import LONGEST_S, competing, pattern
from suite.trials.rigor.command import analyse, foresee, main
from suite.trials.rigor.findings import count, covariate
from suite.trials.rigor.measure import Clock, arms_of, summarise
from suite.trials.rigor.record import KEPT_CALLS, Stream
from suite.trials.rigor.show import markdown, reaches_goal
from suite.trials.rigor.table import Answer, Outcome, lay_out
from tests.trials.rigor.streams import Machine, stream

pytestmark = pytest.mark.alone


def outcomes(*said: tuple[Answer, int]) -> list[Outcome]:
    return [Outcome(each, cluster, 1.0) for each, cluster in said]


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "rigor.json"
    before = stream(Machine())
    write(before, path)
    assert read(path, Stream) == before


@pytest.mark.parametrize(
    ("content", "says"), [(b"{", "not a record"), (b'{"schema": 1}', "not a record"), (b"[]", "not a record")]
)
def test_what_is_no_record_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "rigor.json"
    path.write_bytes(content)
    with pytest.raises(LevelfieldError, match=says):
        read(path, Stream)
    with pytest.raises(LevelfieldError, match="cannot be read"):
        read(tmp_path / "nothing.json", Stream)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rigor.json"
    write(msgspec.structs.replace(stream(Machine()), schema=99), path)
    with pytest.raises(LevelfieldError, match="schema 99"):
        read(path, Stream)


def test_windows_are_laid_out_by_their_arm_not_their_order() -> None:
    one = stream(Machine(), generations=3)
    seen = lay_out(one.generations)
    assert seen.median_ns.shape == (3, 4, 4)
    for g, generation in enumerate(one.generations):
        for r, row in enumerate(generation.rounds):
            for pair in row.pairs:
                for window in pair.windows:
                    assert seen.median_ns[g, r, window.arm] == window.median_ns
                    assert seen.start_s[g, r, window.arm] == pytest.approx(window.start_ns / 1e9)
    assert seen.launch_s == pytest.approx(np.full(3, 0.5))


def test_a_damaged_stream_is_refused() -> None:
    whole = stream(Machine(), generations=2).generations
    with pytest.raises(LevelfieldError, match="no complete generation"):
        lay_out([])
    shorter = msgspec.structs.replace(whole[1], rounds=whole[1].rounds[:-1])
    with pytest.raises(LevelfieldError, match="different shape"):
        lay_out([whole[0], shorter])
    twice = msgspec.structs.replace(whole[1].rounds[0].pairs[0], lane=1, windows=whole[1].rounds[0].pairs[1].windows)
    rounds = (msgspec.structs.replace(whole[1].rounds[0], pairs=(twice, twice)), *whole[1].rounds[1:])
    with pytest.raises(LevelfieldError, match="missing"):
        lay_out([whole[0], msgspec.structs.replace(whole[1], rounds=rounds)])


def test_alarms_are_differences_either_way_and_finds_are_slower_ones() -> None:
    said = outcomes(("slower", 0), ("faster", 0), ("same", 1), ("inconclusive", 2))
    still, moved = count(0.0, said), count(0.02, said)
    assert still.wanted is not None
    assert moved.wanted is not None
    assert (still.wanted.successes, moved.wanted.successes) == (2, 1)
    assert still.decisions == 4
    assert still.clusters == 3


def test_groups_that_agree_are_worth_one_observation_each() -> None:
    found = count(0.0, outcomes(*((("slower" if cluster == 0 else "same"), cluster) for cluster in (0, 1) * 50)))
    assert found.wanted is not None
    assert found.wanted.high - found.wanted.low < 0.25
    assert found.clustered_low == pytest.approx(0.0126, abs=1e-4)  # one of two, Clopper and Pearson 1934
    assert found.clustered_high == pytest.approx(0.9874, abs=1e-4)
    nothing = count(0.0, outcomes(("same", 0), ("same", 1), ("same", 2)))
    assert nothing.clustered_low == 0.0
    assert nothing.clustered_high == pytest.approx(1 - 0.025 ** (1 / 3))


def test_a_canary_that_moves_with_the_arms_would_narrow_intervals() -> None:
    one = stream(Machine(launch=0.0, window=0.002), generations=20)
    changed = lay_out(one.generations)
    assert changed.canary_s is not None
    assert changed.canary_ns is not None
    # Slow beside a turn: a swing of 5 % in ten seconds, with a phase of its own in every generation.
    phase = np.random.default_rng(3).uniform(0, 2 * np.pi, (20, 1))
    changed.canary_ns[:] *= np.exp(0.05 * np.sin(changed.canary_s / 1.6 + phase))
    changed.median_ns[:] *= np.exp(0.05 * np.sin(changed.start_s / 1.6 + phase[..., None]))
    helped = covariate(changed)
    assert helped is not None
    assert helped.variance_ratio < 0.7
    alone = covariate(lay_out(one.generations))  # this canary never moves: nothing to learn from it
    assert alone is None


def test_a_canary_with_moods_of_its_own_does_not() -> None:
    seen = lay_out(stream(Machine(), generations=30).generations)
    assert seen.canary_ns is not None
    seen.canary_ns[:] *= np.exp(0.02 * np.random.default_rng(4).standard_normal(seen.canary_ns.shape))
    found = covariate(seen)
    assert found is not None
    assert found.variance_ratio == pytest.approx(1.0, abs=0.05)


def test_a_record_is_analysed_anew_without_measuring(tmp_path: Path) -> None:
    path = tmp_path / "rigor.json"
    write(stream(Machine(), generations=12), path)
    done = CliRunner().invoke(main, ["--analyse", str(path)])
    assert done.exit_code == 0, done.output
    assert "pyperf" in done.output
    found = read(path, Stream)
    assert found.variance is not None
    assert len(found.findings) >= 9
    rows = [line for line in path.with_suffix(".md").read_text().splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(found.findings)
    assert len({row.count("|") for row in rows}) == 1
    assert analyse(found, path) == found  # the same again


def test_a_record_is_never_overwritten_and_only_continued_as_it_began(tmp_path: Path) -> None:
    path = tmp_path / "rigor.json"
    write(stream(Machine()), path)
    content = path.read_bytes()
    for words, says in (
        ([], "there already"),
        (["--resume"], "other settings"),
        (["--arms", "3"], "not pairs"),
    ):
        done = CliRunner().invoke(main, ["--out", str(path), "--window", "0.07", *words])
        assert done.exit_code == 2
        assert says in " ".join(done.output.split())
        assert path.read_bytes() == content


def two_frameworks(generations: int = 24) -> Stream:
    one = stream(Machine(rounds=0.04, walk=0.02), generations=generations, rounds=3, arms=8)
    return msgspec.structs.replace(
        one,
        setup=msgspec.structs.replace(one.setup, against="openvino"),
        rules_sha256=rules.newest()[0],
    )


def test_a_stream_of_two_frameworks_is_judged_within_each_and_between_them(tmp_path: Path) -> None:
    path = tmp_path / "rigor.json"
    found = analyse(two_frameworks(), path)
    assert read(path, Stream) == found
    assert [each.backend for each in found.frameworks] == ["onnxruntime", "openvino"]
    whole = {finding.rule: finding.tallies[0].decisions for finding in found.findings}
    for each in found.frameworks:
        for finding in each.findings:
            if finding.rule.startswith("bench, "):  # as many decisions as lanes have room for
                assert 2 * finding.tallies[0].decisions == whole[finding.rule]
    assert found.between is not None
    assert found.between.generations == 24
    text = path.with_suffix(".md").read_text()
    for words in (
        "8 arms of onnxruntime and openvino",
        "onnxruntime over openvino",
        "fixed before this stream was taken",
    ):
        assert words in text
    assert text.count("| rule |") == 3


def test_the_frameworks_arms_are_told_apart() -> None:
    setup = two_frameworks().setup
    arms = arms_of(setup)
    assert [arm.backend for arm in arms] == ["onnxruntime"] * 4 + ["openvino"] * 4
    assert len({arm.id for arm in arms}) == 8
    alone = msgspec.structs.replace(setup, against="")
    assert {arm.backend for arm in arms_of(alone)} == {"onnxruntime"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--pair", "onnxruntime"], "does not name two frameworks"),
        (["--pair", "openvino,openvino"], "does not name two frameworks"),
        (["--pair", "onnxruntime,openvino", "--arms", "6"], "not pairs of each framework"),
    ],
)
def test_a_pair_that_is_none_is_refused(words: list[str], says: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, [*words, "--out", str(tmp_path / "rigor.json")])
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())


def test_a_stream_is_not_continued_under_other_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rigor.json"
    write(two_frameworks(2), path)
    frozen = rules.newest()[1]
    monkeypatch.setattr(rules, "newest", lambda: ("0" * 64, frozen))
    done = CliRunner().invoke(main, ["--out", str(path), "--resume", "--pair", "onnxruntime,openvino", "--arms", "8"])
    assert done.exit_code == 2
    assert "begun under other rules" in " ".join(done.output.split())


def test_the_cost_is_told_before() -> None:
    lines = foresee(stream(Machine(), arms=12, rounds=5).setup, 85, 3600)
    assert "about" in lines[0]
    assert "102" in lines[1]  # six pairs, seventeen groups of five generations


def test_the_goal_is_held_against_all_its_parts() -> None:
    one = analyse_in_memory(stream(Machine(launch=0.0005, window=0.001), generations=60))
    good = next(each for each in one.findings if each.rule == "ab --budget 3m")
    assert reaches_goal(good, 180.0)
    assert not reaches_goal(msgspec.structs.replace(good, seconds_most=181.0), 180.0)
    silent = msgspec.structs.replace(good.tallies[0], same=0, inconclusive=good.tallies[0].decisions)
    assert not reaches_goal(msgspec.structs.replace(good, tallies=(silent, *good.tallies[1:])), 180.0)
    assert good.rule in next(line for line in markdown(one).splitlines() if line.startswith("Goal"))


def analyse_in_memory(one: Stream) -> Stream:
    from suite.trials.rigor.findings import find, variance

    seen = lay_out(one.generations)
    return msgspec.structs.replace(one, findings=find(seen, rules.newest()[1]), variance=variance(seen))


def test_a_window_is_kept_as_its_summary_and_first_calls() -> None:
    window = summarise(3, 10, 20, list(range(1, 102)))
    assert (window.calls, window.median_ns, window.mean_ns, window.p10_ns, window.p90_ns) == (101, 51, 51, 11, 91)
    assert window.calls_ns == tuple(range(1, KEPT_CALLS + 1))


def test_a_clock_goes_on_where_the_stream_began() -> None:
    hour_ago = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600))
    assert Clock(hour_ago).now_ns() == pytest.approx(3600e9, abs=2e9)


def test_the_load_is_busy_for_its_share_of_the_time() -> None:
    stretches = [next(each) for each in [pattern(0.3, 5)] for _ in range(4000)]
    busy, idle = (sum(each[place] for each in stretches) for place in (0, 1))
    assert busy / (busy + idle) == pytest.approx(0.3, abs=0.05)
    assert max(max(each) for each in stretches) <= LONGEST_S


def test_the_load_burns_one_cpu_and_ends_with_the_trial() -> None:
    cpu = min(os.sched_getaffinity(0))
    before = set(psutil.Process().children())
    with competing(0.9, cpu, seed=1, seconds=30):
        (process,) = set(psutil.Process().children()) - before
        time.sleep(1.5)
        times = process.cpu_times()
        assert times.user + times.system > 0.2
        assert process.cpu_affinity() == [cpu]
    assert not process.is_running()


def test_the_load_ends_by_itself() -> None:
    before = set(psutil.Process().children())
    with competing(0.5, min(os.sched_getaffinity(0)), seed=1, seconds=0.3):
        (process,) = set(psutil.Process().children()) - before
        assert psutil.wait_procs([process], timeout=20)[0] == [process]
    with competing(0.0, 0, seed=1, seconds=1):
        assert set(psutil.Process().children()) == before


@pytest.mark.docker
def test_the_quick_trial_measures_and_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "rigor.json"
    command = [sys.executable, "-m", "suite.trials.rigor", "--quick", "--busy", "--out", str(out)]
    done = subprocess.run([*command, "--seed", "7"], capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    first = read(out, Stream)
    assert len(first.generations) == 2
    assert first.setup.seed == 7
    assert not first.lost
    windows = [w for one in first.generations for row in one.rounds for pair in row.pairs for w in pair.windows]
    assert len(windows) == 2 * 2 * 2
    assert all(1_000 < window.median_ns < 5_000_000 for window in windows)  # an MLP takes microseconds
    assert len({window.mean_ns for window in windows}) > 4  # made-up numbers repeat, measured ones hardly do
    starts = [w.start_ns for w in windows] + [
        row.canary.start_ns for one in first.generations for row in one.rounds if row.canary
    ]
    assert len(set(starts)) == 2 * 2 * 3
    assert first.variance is not None
    assert out.with_suffix(".md").is_file()

    cut = msgspec.structs.replace(first, generations=first.generations[:1], findings=(), variance=None)
    write(cut, out)
    again = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False, timeout=900)
    assert again.returncode == 0, again.stdout + again.stderr
    second = read(out, Stream)
    assert second.generations[0] == first.generations[0]
    assert len(second.generations) == 2
    assert len(second.resumed) == 1
    assert second.setup.seed == 7
    last = max(w.start_ns for row in first.generations[0].rounds for pair in row.pairs for w in pair.windows)
    assert second.generations[1].start_ns > last
