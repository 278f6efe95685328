"""What the commands of trials have in common; every study that the nox file names begins as a command."""

import datetime as dt
import re
import subprocess
import sys
from pathlib import Path

import click
import msgspec
import pytest
from click.testing import CliRunner

from levelfield.errors import LevelfieldError
from studies.commands import COULD_NOT_RUN, default_path, read, seed_option, terminal, write
from studies.rigor.record import Stream
from studies.tests.rigor.streams import Machine, stream
from tests.commands import ROOT

NAMED = re.findall(r'"(studies\.[a-z_.]+)"', (ROOT / "studies" / "noxfile.py").read_text(encoding="utf-8"))


@pytest.mark.parametrize("module", [*NAMED, "studies.gpu.clock", "studies.gpu.states", "studies.gpu.turns"])
def test_it_says_how_it_is_used(module: str) -> None:
    command = [sys.executable, "-m", module, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Usage:" in done.stdout


@pytest.mark.parametrize("error", [LevelfieldError("It is [broken].", fix="Mend it."), PermissionError("not yours")])
def test_an_error_is_a_message_and_a_code(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, terminal():
        raise error
    assert ended.value.code == COULD_NOT_RUN
    assert str(error).split(maxsplit=1)[0] in capsys.readouterr().out


def test_a_seed_is_drawn_unless_one_is_given() -> None:
    seeds: list[int] = []

    @click.command()
    @seed_option
    def command(seed: int) -> None:
        seeds.append(seed)

    for words in (["--seed", "0"], [], []):
        assert CliRunner().invoke(command, words).exit_code == 0
    assert seeds[0] == 0
    assert len(set(seeds)) == 3


def test_a_record_is_named_after_its_trial_and_day() -> None:
    day = dt.datetime.now(dt.UTC).date()
    assert default_path("rigor").name in {f"rigor-{day}.json", f"rigor-{day + dt.timedelta(1)}.json"}


@pytest.mark.parametrize("content", [b"{", b'{"schema": 1}', b"[]"])
def test_what_is_no_record_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rigor.json"
    path.write_bytes(content)
    with pytest.raises(LevelfieldError, match="not a record"):
        read(path, Stream)
    with pytest.raises(LevelfieldError, match="cannot be read"):
        read(tmp_path / "nothing.json", Stream)


def test_a_record_comes_back_as_it_was_and_another_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rigor.json"
    before = stream(Machine())
    write(before, path)
    assert read(path, Stream) == before
    write(msgspec.structs.replace(before, schema=99), path)
    with pytest.raises(LevelfieldError, match="schema 99"):
        read(path, Stream)
