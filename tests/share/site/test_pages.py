"""The site as files: whole or not at all, made from records alone."""

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.share.site.pages import MARK, PAIRS, Published, publish
from tests.analysis.many import small_run, write_run
from tests.report.hostile import make_hostile
from tests.share.site.shelves import fill


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
    assert len(pages) == 10 + 15 + 1 + 1 + 1, "runs, comparisons, any two runs, trends and the index"
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
