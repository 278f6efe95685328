"""The rigor trial as a program: records, going on, analysing anew, the competing load, and a quick run for real."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from studies.record import read, write
from studies.rigor import rules, sequential
from studies.rigor.command import analyse, foresee, main
from studies.rigor.record import Stream
from studies.rigor.sequential_record import Sequential, markdown
from studies.tests.rigor.streams import Machine, stream, two_frameworks


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


def test_the_rule_of_ab_is_replayed_without_measuring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequential, "SIMULATED", 10)
    path, out = tmp_path / "rigor.json", tmp_path / "sequential.json"
    write(two_frameworks(), path)
    done = CliRunner().invoke(main, ["--sequential", str(path), "--seed", "3", "--out", str(out)])
    assert done.exit_code == 0, done.output
    found = read(out, Sequential)
    assert found.seed == 3
    assert [each.stream for each in found.sources] == ["rigor", "rigor"]
    assert out.with_suffix(".md").read_text() == markdown(found)


def test_the_cost_is_reported_before() -> None:
    lines = foresee(stream(Machine(), arms=12, rounds=5).setup, 85, 3600)
    assert "about" in lines[0]
    assert "102" in lines[1]  # six pairs, seventeen groups of five generations


@pytest.mark.docker
@pytest.mark.alone
@pytest.mark.extended
def test_the_quick_trial_measures_and_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "rigor.json"
    command = [sys.executable, "-m", "studies.rigor", "--quick", "--busy", "--out", str(out)]
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
