"""`levelfield report`, `verify`, `export` and `publish` as people type them."""

import csv
import io
import os
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.cli.share import _at_most
from levelfield.errors import LevelfieldError
from levelfield.paths import tool_sha256
from levelfield.record import files
from levelfield.record.page import NAME as REPORT
from levelfield.record.schema import Run
from levelfield.report import html
from levelfield.report.export import TABLES, columns_of
from tests.analysis.many import small_run, write_run
from tests.commands import call, one_clear_sentence
from tests.compare.gates import keep
from tests.records_builder import make_run
from tests.report.hostile import PAYLOAD, make_hostile
from tests.share.evidence import key, leave, small
from tests.share.shelves import changed_page
from tests.unprivileged import ordinary_user


def test_a_report_at_another_price_leaves_record_and_page_alone(tmp_path: Path) -> None:
    record = files.write(make_run(models=("mlp",), scenarios=("latency",)), tmp_path)
    before = record.read_bytes()
    command = call("report", tmp_path, "--price", "1.20EUR/h", folder=tmp_path, code=0)
    for said in ("EUR a million items", "Cost is time times"):
        assert said in " ".join(command.out.split())
    assert record.read_bytes() == before
    assert not (tmp_path / REPORT).exists()


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
    done = call("verify", folder / "report.html", folder=tmp_path, code=1)
    assert done.out.startswith("Verification failed: run ")
    assert "All 3 answers" in done.out
    assert tool_sha256() not in done.out
    assert PAYLOAD not in done.out


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
    command = call("verify", signed / report, *words, folder=tmp_path, code=code)
    assert command.out.startswith(says)
    assert ("the signer answers for" in command.out.splitlines()[-1]) is says.startswith("Verified")


def test_a_page_by_another_version_cannot_be_verified_by_this_one(tmp_path: Path) -> None:
    folder = leave(small(), tmp_path / "run")
    text = (
        (folder / "report.html")
        .read_text(encoding="utf-8")
        .replace(f'"tool_sha256":"{tool_sha256()}"', f'"tool_sha256":"{"0" * 64}"')
    )
    (folder / "report.html").write_text(text.replace("Skip to the verdict", "Skip"), encoding="utf-8")
    command = call("verify", folder / "report.html", "--page", "fresh.html", folder=tmp_path, code=3)
    assert command.out.startswith("Not verified: run ")
    assert "The record by itself: consistent, but unsigned." in command.out
    assert call("verify", "fresh.html", folder=tmp_path).code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("gone.html",), "gone.html"),
        (("run", "--signers", "bare.pub"), "bare.pub begins with a public key without a name."),
        (("run", "--signers", "gone"), "There is no plain file gone. Write a line for each signer: NAME ssh"),
    ],
)
def test_what_is_not_there_is_one_sentence(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    (tmp_path / "bare.pub").write_text("ssh-ed25519 AAAAC3Nza ada@example.org")
    one_clear_sentence(call("verify", *words, folder=tmp_path), says)


def record() -> Run:
    return make_run(models=("mlp",), backends=("jax", "openvino"), generations=5, rounds=2, max_calls=7, control="jax")


def test_the_command_writes_several_runs_into_one_file(tmp_path: Path) -> None:
    for number in (1, 2):
        keep(msgspec.structs.replace(record(), id=f"run-{number}"), tmp_path / "reports")
    out = tmp_path / "all.csv"
    call("export", "run-1", "run-2", "--csv", out, folder=tmp_path, code=0)
    with out.open(encoding="utf-8", newline="") as stream:
        assert {row["run"] for row in csv.DictReader(stream)} == {"run-1", "run-2"}
    printed = call("export", "run-1", "--table", "launches", folder=tmp_path)
    assert printed.out.startswith("run,started,model,")
    one_clear_sentence(call("export", "run-3", folder=tmp_path), "There is no run called 'run-3'", "run-1")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with `reports/a-run/`."""
    keep(msgspec.structs.replace(record(), id="a-run"), tmp_path / "reports")
    return tmp_path


def test_the_record_of_a_page_is_written_as_it_is_inside(place: Path) -> None:
    run = msgspec.structs.replace(record(), id="a-page")
    (place / "a-page.html").write_text(html.render(run, analyse(run)), encoding="utf-8")
    assert call("export", "a-page.html", "--record", "record.json", folder=place).out == ""
    assert (place / "record.json").read_bytes() == files.encode(run)
    assert call("export", "record.json", folder=place).out == call("export", "a-page.html", folder=place).out


@pytest.mark.parametrize("table", TABLES)
def test_every_table_goes_to_the_terminal_unless_told_otherwise(place: Path, table: str) -> None:
    command = call("export", "a-run", "--table", table, folder=place, code=0)
    header, *rows = csv.reader(io.StringIO(command.out))
    assert tuple(header) == columns_of(table)
    assert rows
    assert command.err == "", "nothing but the table, for a pipe"


def test_a_minus_is_the_terminal_and_a_file_is_announced_beside_it(place: Path) -> None:
    printed = call("export", "a-run", "--csv", "-", folder=place)
    assert printed.out == call("export", "a-run", folder=place).out
    command = call("export", "a-run", "--csv", place / "all.csv", folder=place)
    rows = len(printed.out.splitlines()) - 1
    assert (command.out, command.err) == ("", f"{rows} rows in {place / 'all.csv'}\n")


def test_a_file_in_a_folder_that_is_not_there(place: Path) -> None:
    one_clear_sentence(call("export", "a-run", "--csv", "gone/all.csv", folder=place), "No such file or directory")


@pytest.mark.parametrize("option", ["--csv", "--openmetrics"])
def test_a_run_and_its_copy_are_not_exported_as_two(place: Path, option: str) -> None:
    shutil.copytree(place / "reports" / "a-run", place / "copy")
    for again in ("a-run", "copy"):
        refused = call("export", "a-run", again, option, "out", folder=place)
        one_clear_sentence(refused, "The run a-run is named twice. Name every run once")
        assert not (place / "out").exists()


def test_a_table_that_cannot_be_finished_leaves_the_file_as_it_was(place: Path) -> None:
    (place / "bad.html").write_text("no page")
    (place / "all.csv").write_text("kept")
    one_clear_sentence(call("export", "a-run", "bad.html", "--csv", "all.csv", folder=place), "bad.html")
    assert (place / "all.csv").read_text() == "kept"
    assert sorted(path.name for path in place.iterdir()) == ["all.csv", "bad.html", "reports"]


@pytest.mark.parametrize("option", ["--csv", "--openmetrics", "--record"])
def test_a_device_is_written_into_and_named_where_it_is_full(place: Path, option: str) -> None:
    one_clear_sentence(
        call("export", "a-run", option, "/dev/full", folder=place), "/dev/full cannot be written: No space left"
    )
    assert Path("/dev/full").is_char_device()
    with (place / "out").open("w") as file:
        link = Path(f"/proc/self/fd/{file.fileno()}")  # as /dev/stdout, where it leads to a file
        assert call("export", "a-run", option, link, folder=place).code == 0
        size = Path(file.name).stat()
        assert (size.st_ino, size.st_size > 1000) == (os.fstat(file.fileno()).st_ino, True)


def test_a_site_that_finds_no_space_names_its_folder(small_disk: Path, tmp_path: Path) -> None:
    one = small_run()
    write_run(one, tmp_path / "reports" / one.id)
    command = call("publish", "--out", small_disk / "site", folder=tmp_path)
    one_clear_sentence(command, f"{small_disk / 'site'} cannot be written: No space left on device.")


def test_metrics_go_to_a_file_or_to_the_terminal(place: Path) -> None:
    printed = call("export", "a-run", "--openmetrics", "-", folder=place, code=0)
    assert printed.out.endswith("# EOF\n")
    command = call("export", "a-run", "--openmetrics", place / "levelfield.prom", folder=place)
    assert (place / "levelfield.prom").read_text(encoding="utf-8") == printed.out
    assert "samples in" in command.err
    assert call("export", "a-run", "--openmetrics", "-", "--table", "calls", folder=place).code == 2


def test_a_site_is_written_and_what_was_left_out_is_named(tmp_path: Path) -> None:
    one = small_run()
    write_run(one, tmp_path / "mine" / one.id)
    (tmp_path / "mine" / "broken").mkdir()
    (tmp_path / "mine" / "broken" / files.NAME).write_text("[")
    command = call("publish", "--reports", "mine", "--out", "public", folder=tmp_path, code=1)
    assert "Left out: broken" in command.out
    assert "1 run, 0 comparisons and 0 pages of trends: public/index.html" in command.out
    assert f"runs/{one.id}/" in (tmp_path / "public" / "index.html").read_text(encoding="utf-8")


def test_a_run_that_may_not_be_looked_into_is_named_and_never_skipped(tmp_path: Path) -> None:
    one = small_run()
    write_run(one, tmp_path / "reports" / one.id)
    write_run(msgspec.structs.replace(one, id="secret"), tmp_path / "reports" / "secret")
    write_run(one, tmp_path / "copy")
    folder = tmp_path / "reports" / "secret"
    folder.chmod(0)
    with ordinary_user():
        published = call("publish", folder=tmp_path)
        named = call("publish", folder, folder / "report.html", tmp_path / "reports" / one.id, folder=tmp_path)
        listed = call("history", folder=tmp_path)
        exported = call("export", "secret", folder=tmp_path)
        (tmp_path / "reports").chmod(0)  # it hides nothing beside it
        beside = call("export", "copy", folder=tmp_path)
    assert (published.code, named.code) == (1, 1), published.err + named.err
    assert "Left out: secret: " in published.out
    assert named.out.count("Permission denied") == 2
    assert "secret is left out: " in listed.out
    one_clear_sentence(exported, "Permission denied")
    assert beside.code == 0, beside.err


def test_a_site_is_made_of_what_is_named_and_a_forged_page_ends_with_1(tmp_path: Path) -> None:
    one = small_run()
    (tmp_path / "good.html").write_text(html.render(one, analyse(one)), encoding="utf-8")
    (tmp_path / "forged.html").write_text(changed_page(one), encoding="utf-8")
    words = ("--title", "Our\u202e stacks", "--base-url", "https://example.org/b/")
    call("publish", "good.html", *words, folder=tmp_path, code=0)
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert '<link rel="canonical" href="https://example.org/b/">' in index
    assert "\u202e" not in index
    assert "stacks</title>" in index
    command = call("publish", "forged.html", "good.html", folder=tmp_path, code=1)
    assert "Left out: forged.html: Its verification failed" in command.out
    assert (tmp_path / "site" / "runs" / one.id).is_dir()
    one_clear_sentence(call("publish", ".", folder=tmp_path), "under . that can be published. Name the pages themsel")
    for wrong in (
        ("--base-url", "javascript:alert(1)"),
        ("--title", "x" * 121),
        ("nowhere.html",),
        ("--signers", "no"),
    ):
        assert call("publish", "good.html", *wrong, folder=tmp_path).code == 2


def test_a_site_is_verified_page_by_page_and_ends_with_the_worst_code(tmp_path: Path) -> None:
    for name in ("run-1", "run-2"):
        leave(msgspec.structs.replace(small(), id=name), tmp_path / "reports" / name)
    call("publish", folder=tmp_path, code=0)
    site, good = tmp_path / "site", "Consistent, but unsigned: run run-"
    assert call("verify", site / "runs" / "run-1", folder=tmp_path, code=0).out.startswith(f"{good}1")
    for derived in ("site/index.html", "site/compare/run-1--run-2.html"):
        one_clear_sentence(
            call("verify", derived, folder=tmp_path), "made from those of runs. On a site they are in runs/…"
        )
    assert call("verify", "site", folder=tmp_path, code=0).out.count(good) == 2
    page = site / "runs" / "run-1" / "index.html"
    page.write_text(page.read_text().replace("All 2 answers", "All 3 answers"))
    (site / "runs" / "run-3").mkdir()
    (site / "runs" / "run-3" / "index.html").write_text("rubbish")
    first, second, third, last = call("verify", "site", folder=tmp_path, code=1).out.splitlines()
    assert first.startswith("site/runs/run-1/index.html: Verification failed: run run-1")
    assert second.startswith(f"site/runs/run-2/index.html: {good}2")
    assert third.startswith("site/runs/run-3/index.html: ")
    assert last.endswith("and are not verified.")
    (site / REPORT).write_text(changed_page(small()))
    assert call("verify", site, folder=tmp_path, code=1).out.startswith("Verification failed: run "), "not a site's"


def test_a_card_of_a_stranger_says_nothing_to_the_terminal(tmp_path: Path) -> None:
    files.write(make_hostile(variants=False), tmp_path)
    command = call("report", tmp_path, "--card", ".", folder=tmp_path, code=0)
    assert command.out.split() == ["card.svg", "card.md"]
    ET.fromstring((tmp_path / "card.svg").read_text(encoding="utf-8"))
