"""`levelfield reproduce` as people type it: what a report may not choose, and what is shown before anything runs."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from levelfield.cli.reproduce import NAME, reproduce
from levelfield.compare.types import Comparison
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.schema import Run
from levelfield.run import bench
from levelfield.run.options import Options
from tests.commands import call, one_clear_sentence
from tests.records_builder import kept
from tests.run.reproductions import asks, known, record


@pytest.mark.parametrize("theirs", ["docker", "venv", "host"])
@pytest.mark.parametrize(("typed", "used"), [((), "docker"), (("--launcher", "venv"), "venv")])
def test_workers_run_in_containers_unless_the_user_says_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theirs: str, typed: tuple[str, ...], used: str
) -> None:
    asked: list[Options] = []

    def conduct(chosen: object, options: Options, console: object) -> Path:
        asked.append(options)
        raise LevelfieldError("Enough is known.")

    monkeypatch.setattr(bench, "conduct", conduct)
    files.write(asks(known(record("theirs")), launcher=theirs), tmp_path)
    done = CliRunner().invoke(reproduce, [str(tmp_path), "--dry-run", *typed])
    assert isinstance(done.exception, LevelfieldError)
    assert done.exception.message == "Enough is known.", done.output
    assert [each.launcher for each in asked] == [used]
    assert asked[0].selection.locked


def test_an_empty_list_of_images_does_not_open_the_gate(tmp_path: Path) -> None:
    files.write(msgspec.structs.replace(known(record("theirs")), images=()), tmp_path)
    command = call("reproduce", tmp_path, "--reports", tmp_path / "mine", folder=tmp_path)
    one_clear_sentence(command, "4 images would not be, or cannot be shown to be", "--trust")
    assert not (tmp_path / "mine").exists()


def test_a_record_without_cases_is_one_sentence(tmp_path: Path) -> None:
    kept(msgspec.structs.replace(record("empty"), blocks=()), tmp_path)
    done = CliRunner().invoke(reproduce, [str(tmp_path), "--dry-run"])
    assert isinstance(done.exception, LevelfieldError)
    assert "holds no case" in str(done.exception)


def test_a_dry_run_shows_what_would_be_run_and_asks_for_no_trust(tmp_path: Path) -> None:
    files.write(known(record("theirs")), tmp_path)
    command = call("reproduce", tmp_path, "--dry-run", "--reports", tmp_path / "mine", folder=tmp_path, code=0)
    assert command.out.startswith("Run theirs, started ")
    assert "Not the report's images" not in command.out
    assert "built" in command.err + command.out, "as bench says it"
    files.write(msgspec.structs.replace(known(record("theirs")), images=()), tmp_path)
    command = call("reproduce", tmp_path, "--dry-run", "--reports", tmp_path / "mine", folder=tmp_path, code=0)
    assert "Not the report's images" in command.out
    assert "the report does not say what it was" in command.out
    assert not (tmp_path / "mine").exists()


def test_a_report_that_is_not_there(tmp_path: Path) -> None:
    one_clear_sentence(call("reproduce", tmp_path / "gone.html", folder=tmp_path), "gone.html")


@pytest.fixture
def remeasured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Let the measurement be a record that is there already: all before and after it is real."""

    def reproduced(theirs: Run, ours: Run, *words: str) -> Result:
        def conduct(chosen: object, options: Options, console: object) -> Path:
            return kept(ours, options.reports / ours.id).parent

        monkeypatch.setattr(bench, "conduct", conduct)
        monkeypatch.setattr(bench, "finish", lambda *_: 0)
        kept(theirs, tmp_path / "theirs")
        return CliRunner().invoke(reproduce, [str(tmp_path / "theirs"), "--reports", str(tmp_path / "mine"), *words])

    return reproduced


@pytest.mark.parametrize(
    ("slower", "code", "says"), [(1.0, 0, "Reproduced: "), (1.8, 1, "Of 12 results: 10 reproduced, 2 differs.")]
)
def test_the_exit_code_and_the_file_hold_the_answer(
    remeasured: Callable[..., Result], tmp_path: Path, slower: float, code: int, says: str
) -> None:
    theirs = known(record("theirs", noise_scale=0.01))
    done = remeasured(theirs, record("ours", 2, noise_scale=0.01, slower={"jax": slower}))
    assert done.exit_code == code, done.output
    found = msgspec.json.decode((tmp_path / "mine" / "ours" / NAME).read_bytes(), type=Comparison)
    runs = [side.runs[0].id for side in (found.old, found.new)]
    assert (runs, found.kind, found.exit_code) == (["theirs", "ours"], "reproduce", code)
    assert found.answer.startswith(says)
    assert found.answer in " ".join(done.output.split())
    assert f"Written: {tmp_path / 'mine' / 'ours' / NAME}" in done.output


def test_with_trust_other_images_are_shown_and_run(remeasured: Callable[..., Result]) -> None:
    theirs = msgspec.structs.replace(known(record("theirs", noise_scale=0.01)), images=())
    done = remeasured(theirs, record("ours", 2, noise_scale=0.01), "--trust")
    assert done.exit_code == 0, done.output
    assert done.output.index("Not the report's images") < done.output.index("Reproduced: ")
