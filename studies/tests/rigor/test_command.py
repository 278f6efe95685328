"""The rigor trial as a program: records, going on, analysing anew, the competing load, and a quick run for real."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from studies.commands import read, write
from studies.rigor import rules
from studies.rigor.command import analyse, main
from studies.rigor.record import Stream
from studies.tests.rigor.streams import Machine, stream


def test_a_record_is_analysed_anew_without_measuring(tmp_path: Path) -> None:
    path = tmp_path / "rigor.json"
    write(stream(Machine(), generations=12), path)
    done = CliRunner().invoke(main, ["--analyse", str(path)])
    assert done.exit_code == 0, done.output
    assert "pyperf" in done.output
    found = read(path, Stream)
    assert found.variance is not None
    assert len(found.findings) == 7
    rows = [line for line in path.with_suffix(".md").read_text().splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(found.findings)
    assert len({row.count("|") for row in rows}) == 1
    assert analyse(found, path) == found  # the same again


def test_a_record_is_never_overwritten_and_only_continued_as_it_began(tmp_path: Path) -> None:
    path = tmp_path / "rigor.json"
    write(stream(Machine()), path)
    content = path.read_bytes()
    for words, says in (([], "there already"), (["--resume"], "other settings"), (["--arms", "3"], "not pairs")):
        done = CliRunner().invoke(main, ["--out", str(path), "--window", "0.07", *words])
        assert done.exit_code == 2
        assert says in " ".join(done.output.split())
        assert path.read_bytes() == content


def test_a_stream_is_not_continued_under_other_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rigor.json"
    one = stream(Machine())
    write(msgspec.structs.replace(one, rules_sha256=rules.newest()[0]), path)
    frozen = rules.newest()[1]
    monkeypatch.setattr(rules, "newest", lambda: ("0" * 64, frozen))
    done = CliRunner().invoke(main, ["--out", str(path), "--resume"])
    assert done.exit_code == 2
    assert "begun under other rules" in " ".join(done.output.split())


@pytest.mark.docker
@pytest.mark.alone
@pytest.mark.extended
def test_the_quick_trial_measures_and_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "rigor.json"
    command = [sys.executable, "-m", "studies.rigor.command", "--quick", "--out", str(out)]
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
    assert first.variance is not None

    cut = msgspec.structs.replace(first, generations=first.generations[:1], findings=(), variance=None)
    write(cut, out)
    again = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False, timeout=900)
    assert again.returncode == 0, again.stdout + again.stderr
    second = read(out, Stream)
    assert second.generations[0] == first.generations[0]
    assert (len(second.generations), len(second.resumed), second.setup.seed) == (2, 1, 7)
    assert second.generations[1].start_ns > max(window.start_ns for window in windows[:4])
