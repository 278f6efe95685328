"""What the commands of trials have in common."""

import datetime as dt
from pathlib import Path

import click
import msgspec
import pytest
from click.testing import CliRunner

from levelfield.errors import LevelfieldError
from studies.commands import COULD_NOT_RUN, default_path, read, seed_option, terminal, write
from studies.rigor.record import Stream
from studies.tests.rigor.streams import Machine, stream


@pytest.mark.parametrize("error", [LevelfieldError("It is [broken].", fix="Mend it."), PermissionError("not yours")])
def test_an_error_is_a_message_and_a_code(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, terminal():
        raise error
    assert ended.value.code == COULD_NOT_RUN
    assert str(error).split(maxsplit=1)[0] in capsys.readouterr().out


def test_a_mistake_of_ours_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError), terminal():
        raise ZeroDivisionError


def test_findings_are_shown_with_their_file(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal() as opened:
        opened.show("| a | b |\n|---|---|\n| one | two |\n", Path("x.json"))
    shown = capsys.readouterr().out
    assert "one" in shown
    assert "|---|" not in shown
    assert "Record: x.json" in shown


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
