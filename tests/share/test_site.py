"""The site as files: whole or not at all, made from records alone."""

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from levelfield.analysis import Analysis
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.schema import Run
from levelfield.share.site import MARK, PAIRS, Entry, Published, SiteRuns, machines_of, publish, read_runs
from tests.analysis.many import small_run, write_run
from tests.report.hostile import make_hostile
from tests.share.shelves import fill, made


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Published]:
    folder = tmp_path_factory.mktemp("published")
    output: list[str] = []
    result = publish(fill(folder / "reports"), folder / "site", output.append)
    assert any("run-07" in line for line in output)
    return folder / "site", result


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag
        self.found += [value for name, value in attrs if name in ("href", "src") and value is not None]


def links(page: Path) -> list[str]:
    parser = Links()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser.found


def test_every_run_is_there_and_what_is_broken_is_named(site: tuple[Path, Published]) -> None:
    folder, result = site
    assert result.runs == 10
    assert [each.partition(":")[0] for each in result.skipped] == ["broken"]
    assert result.comparisons == PAIRS * (PAIRS - 1) // 2
    assert result.trends == 1
    assert len(list(folder.glob("runs/*/index.html"))) == 10


def test_every_link_leads_somewhere_in_the_site(site: tuple[Path, Published]) -> None:
    folder, _ = site
    pages = list(folder.rglob("*.html"))
    assert len(pages) == 10 + 15 + 1 + 1, "runs, comparisons, trends and the index"
    for page in pages:
        for link in links(page):
            if link.startswith(("data:", "#")):
                continue
            assert not re.match(r"[a-z]+:|/", link), link
            assert (page.parent / link.partition("#")[0]).resolve().is_file(), f"{page.name}: {link}"


def test_a_page_beside_a_record_is_not_taken_over(site: tuple[Path, Published]) -> None:
    folder, _ = site
    assert not any("not ours" in page.read_text(encoding="utf-8") for page in folder.rglob("*.html"))


def test_it_is_replaced_as_a_whole_and_never_in_the_place_of_something_else(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    write_run(small_run(), reports / "one")
    out = tmp_path / "site"
    publish(reports, out, print)
    (out / "stale.html").write_text("old", encoding="utf-8")
    publish(reports, out, print)
    assert not (out / "stale.html").exists()
    assert (out / MARK).is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reports", "site"]
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years", encoding="utf-8")
    with pytest.raises(LevelfieldError, match="no site of Levelfield's, and would be lost"):
        publish(reports, precious, print)
    assert (precious / "thesis.txt").read_text(encoding="utf-8") == "years"


def test_a_run_cannot_name_its_way_out_of_the_site(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    for number, name in enumerate(("../../outside", "", ".", "a/b", "x" * 300, "good")):
        (reports / str(number)).mkdir(parents=True)
        files.write(msgspec.structs.replace(small_run(), id=name), reports / str(number))
    made_ = publish(reports, tmp_path / "site", print)
    assert made_.runs == 1
    assert sorted(path.name for path in (tmp_path / "site" / "runs").iterdir()) == ["good"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reports", "site"]


def test_hostile_texts_are_only_texts(tmp_path: Path) -> None:
    hostile = msgspec.structs.replace(make_hostile(variants=False), id="hostile", started="2026-01-01T00:00:00Z")
    (tmp_path / "reports" / "hostile").mkdir(parents=True)
    files.write(hostile, tmp_path / "reports" / "hostile")
    publish(tmp_path / "reports", tmp_path / "site", print)
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert index.count("<script") == 1
    assert "&lt;" in index  # what would have been markup is there, as text
    assert not re.search(r"<(img|iframe|object|svg)\b", index)
    ET.fromstring((tmp_path / "site" / "runs" / "hostile" / "card.svg").read_text(encoding="utf-8"))


def keep_nothing(entry: Entry, run: Run, found: Analysis) -> None: ...


def put(reports: Path, *runs: Run) -> Path:
    """Write each run into a folder of its number."""
    for number, run in enumerate(runs):
        (reports / str(number)).mkdir(parents=True)
        files.write(run, reports / str(number))
    return reports


def listed(reports: Path) -> SiteRuns:
    return read_runs(reports, lambda _: None, keep_nothing)


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

    found = read_runs(tmp_path, lambda _: None, fails)
    assert [entry.id for entry in found.entries] == ["run-03"]
    assert [one.id for one in found.summaries] == ["run-03"]
    assert found.skipped == ("0: Its page cannot be made.", "1: its analysis ended with ZeroDivisionError")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        read_runs(tmp_path, lambda _: None, full)


def test_a_folder_that_is_none_is_a_sentence_and_an_empty_one_lists_nothing(tmp_path: Path) -> None:
    assert listed(tmp_path) == SiteRuns((), (), ())
    (tmp_path / "file").write_text("x")
    with pytest.raises(LevelfieldError, match="cannot be read: Not a directory"):
        listed(tmp_path / "file")


def test_machines_with_the_same_title_are_told_apart_by_their_keys(shelf: SiteRuns) -> None:
    one, *_ = shelf.entries
    twins = [msgspec.structs.replace(one, machine=key, machine_title="EPYC") for key in ("aaa", "bbb")]
    other = msgspec.structs.replace(one, machine="ccc", machine_title="Xeon")
    assert machines_of([*twins, other, twins[0]]) == {
        "aaa": "EPYC (machine aaa)",
        "bbb": "EPYC (machine bbb)",
        "ccc": "Xeon",
    }
