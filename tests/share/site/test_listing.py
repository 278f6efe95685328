"""The runs of a reports folder, as a site lists them: newest first, and nothing lost without a word."""

from pathlib import Path

import msgspec
import pytest

from levelfield.analysis import Analysis
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.schema import Run
from levelfield.share.site import listing
from levelfield.share.site.listing import Entry, SiteRuns
from tests.share.site.shelves import fill, made


def keep_nothing(entry: Entry, run: Run, found: Analysis) -> None: ...


def put(reports: Path, *runs: Run) -> Path:
    """Write each run into a folder of its number."""
    for number, run in enumerate(runs):
        (reports / str(number)).mkdir(parents=True)
        files.write(run, reports / str(number))
    return reports


def listed(reports: Path) -> SiteRuns:
    return listing.read_runs(reports, lambda _: None, keep_nothing)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> SiteRuns:
    return listed(fill(tmp_path_factory.mktemp("listed") / "reports"))


def test_the_newest_comes_first_and_each_has_its_summary(shelf: SiteRuns) -> None:
    started = [entry.started for entry in shelf.entries]
    assert started == sorted(started, reverse=True)
    assert len(shelf.entries) == 10
    assert {one.id for one in shelf.summaries} == {entry.id for entry in shelf.entries}


@pytest.mark.parametrize("name", ["", ".", "../outside", "a/b", "-a", "a b", "x" * 121, "a\n"])
def test_an_id_that_can_be_no_folder_s_name_is_left_out(tmp_path: Path, name: str) -> None:
    found = listed(put(tmp_path, msgspec.structs.replace(made(1), id=name)))
    assert found == SiteRuns((), (), ("0: its run's id is taken, or can be no folder's name",))


def test_a_run_at_which_a_page_fails_is_left_out_and_a_full_disk_ends_it(tmp_path: Path) -> None:
    put(tmp_path, made(1), made(2), made(3))

    def fails(entry: Entry, run: Run, found: Analysis) -> None:
        del run, found
        if entry.id == "run-01":
            raise LevelfieldError("Its page cannot be made.")
        if entry.id == "run-02":
            raise ZeroDivisionError

    found = listing.read_runs(tmp_path, lambda _: None, fails)
    assert [entry.id for entry in found.entries] == ["run-03"]
    assert [one.id for one in found.summaries] == ["run-03"]
    assert found.skipped == ("0: Its page cannot be made.", "1: its analysis ended with ZeroDivisionError")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        listing.read_runs(tmp_path, lambda _: None, full)


def test_a_folder_that_is_none_is_a_sentence_and_an_empty_one_lists_nothing(tmp_path: Path) -> None:
    assert listed(tmp_path) == SiteRuns((), (), ())
    (tmp_path / "file").write_text("x")
    with pytest.raises(LevelfieldError, match="cannot be read: Not a directory"):
        listed(tmp_path / "file")


def test_machines_with_the_same_title_are_told_apart_by_their_keys(shelf: SiteRuns) -> None:
    one, *_ = shelf.entries
    twins = [msgspec.structs.replace(one, machine=key, machine_title="EPYC") for key in ("aaa", "bbb")]
    other = msgspec.structs.replace(one, machine="ccc", machine_title="Xeon")
    assert listing.machines([*twins, other, twins[0]]) == {
        "aaa": "EPYC (machine aaa)",
        "bbb": "EPYC (machine bbb)",
        "ccc": "Xeon",
    }
