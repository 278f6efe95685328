"""`levelfield verify` as people type it: the answer first, the exit code, and never a word without end."""

import signal
from pathlib import Path

import pytest

from levelfield.cli.verify import _at_most
from levelfield.errors import LevelfieldError
from levelfield.paths import tool_sha256
from tests.commands import call, one_clear_sentence
from tests.report.hostile import PAYLOAD
from tests.share.evidence import key, leave, small


def test_what_takes_too_long_is_ended() -> None:
    def endless() -> None:
        with _at_most(0.05):
            while True:
                pass

    with pytest.raises(LevelfieldError, match="takes longer than 0 s"):
        endless()


def test_the_command_names_a_changed_figure_and_ends_with_one(tmp_path: Path) -> None:
    folder = leave(small(), tmp_path / "run")
    text = (folder / "report.html").read_text()
    (folder / "report.html").write_text(text.replace("All 2 answers", "All 3 answers"))
    done = call("verify", folder / "report.html", folder=tmp_path)
    assert done.code == 1
    assert done.out.startswith("Verification failed: run ")
    assert "All 3 answers" in done.out
    assert tool_sha256() not in done.out
    assert PAYLOAD not in done.out


def test_the_alarm_is_off_when_the_check_has_ended() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with _at_most(60):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) is before


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a signed run, `signers` who know the key, and `strangers` who do not."""
    folder = tmp_path_factory.mktemp("signed")
    (folder / "other").mkdir()
    ada, signers = key(folder)
    _, strangers = key(folder / "other", "eve")
    leave(small(), folder / "run", ada)
    signers.rename(folder / "signers")
    strangers.rename(folder / "strangers")
    return folder


@pytest.mark.parametrize("report", ["run", "run/report.html"])
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ((), 0, "Consistent, but signer unknown: run "),
        (("--signers", "signers"), 0, "Verified by ada@example.org: run "),
        (("--signers", "strangers"), 3, "Consistent, but signer unknown: run "),
    ],
)
def test_the_answer_is_the_first_line_and_the_exit_code(
    signed: Path, tmp_path: Path, report: str, words: tuple[str, ...], code: int, says: str
) -> None:
    if words:
        words = (words[0], str(signed / words[1]))
    command = call("verify", signed / report, *words, folder=tmp_path)
    assert command.code == code, command.err
    assert command.out.startswith(says)
    meaning = command.out.splitlines()[-1]
    assert ("the signer answers for" in meaning) is says.startswith("Verified")


def test_a_page_by_another_version_cannot_be_verified_by_this_one(tmp_path: Path) -> None:
    folder = leave(small(), tmp_path / "run")
    text = (
        (folder / "report.html")
        .read_text(encoding="utf-8")
        .replace(f'"tool_sha256":"{tool_sha256()}"', f'"tool_sha256":"{"0" * 64}"')
    )
    (folder / "report.html").write_text(text.replace("Skip to the verdict", "Skip"), encoding="utf-8")
    command = call("verify", folder / "report.html", "--page", "fresh.html", folder=tmp_path)
    assert command.code == 3
    assert command.out.startswith("Not verified: run ")
    assert "The record by itself: consistent, but unsigned." in command.out
    assert call("verify", "fresh.html", folder=tmp_path).code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("gone.html",), "gone.html"),
        (("run", "--signers", "gone"), "There is no file of signers gone. Write one line for each: NAME and"),
    ],
)
def test_what_is_not_there_is_one_sentence(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    one_clear_sentence(call("verify", *words, folder=tmp_path), says)


def test_what_is_no_report_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<!doctype html><p>A recipe for bread.</p>")
    one_clear_sentence(call("verify", "page.html", folder=tmp_path), "The page carries no record")
