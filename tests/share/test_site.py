"""The site as files: whole or not at all, made from records alone."""

import os
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.page import NAME as REPORT
from levelfield.record.schema import Run
from levelfield.report import html
from levelfield.share.attestation import Given
from levelfield.share.runs import Entry, SiteRuns, read_runs
from levelfield.share.site import MARK, PAIRS, Published, machines_of, publish
from tests.analysis.many import small_run, write_run
from tests.analysis.probed import agreeing, probed
from tests.compare.runs import with_machine
from tests.records_builder import kept, make_run
from tests.report.hostile import PAYLOAD
from tests.report.test_states import HARDLY_CALM
from tests.share.evidence import key, leave, small
from tests.share.shelves import changed_page, fill, made


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Published]:
    folder = tmp_path_factory.mktemp("published")
    output: list[str] = []
    result = publish([fill(folder / "reports")], folder / "site", output.append)
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
    assert (result.comparisons, result.trends) == (PAIRS * (PAIRS - 1) // 2, 1)
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


def test_a_page_that_does_not_follow_from_its_record_is_made_anew(site: tuple[Path, Published]) -> None:
    folder, _ = site
    assert "; none is signed by a known signer." in (folder / "index.html").read_text(encoding="utf-8")
    assert (folder / "runs" / "run-00" / "index.html").is_file()
    assert not any("not ours" in page.read_text(encoding="utf-8") for page in folder.rglob("*.html"))


def test_pages_and_folders_of_others_are_merged_and_what_fails_verification_is_left_out(tmp_path: Path) -> None:
    mine, theirs, bare = made(1), made(2, other=True), made(3)
    put(tmp_path / "mine", mine)
    write_run(theirs, tmp_path / theirs.id)
    write_run(msgspec.structs.replace(made(5), id=theirs.id), tmp_path / "in-its-place")
    page = tmp_path / "more.html"
    page.write_text(html.render(bare, analyse(bare)), encoding="utf-8")
    forged = tmp_path / "forged.html"
    forged.write_text(changed_page(made(4)), encoding="utf-8")
    sources = [tmp_path / "mine", tmp_path / "in-its-place", tmp_path / theirs.id, page, forged, page]
    result = publish(sources, tmp_path / "site", print)
    assert (result.runs, len(result.skipped)) == (3, 2)
    assert "forged.html: Its verification failed: page: It is not the page" in result.skipped[0]
    assert (tmp_path / "site" / "runs" / bare.id / "index.html").read_bytes() == page.read_bytes()
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "Who is fastest on 2 machines" in index
    assert "1 of 1 ranking on several machines agrees" in index


def test_who_signed_a_run_is_named(tmp_path: Path) -> None:
    """Though a copy that nobody signed comes first."""
    secret, signers = key(tmp_path)
    leave(small(), tmp_path / "reports" / "copy")
    leave(small(), tmp_path / "reports" / "run", secret)
    publish([tmp_path / "reports"], tmp_path / "site", print, signers=signers)
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "Signed by ada@example.org." in index
    assert "which agrees with itself; 1 is signed by a known signer." in index


def test_a_page_by_a_known_signer_comes_before_another_of_its_id(tmp_path: Path) -> None:
    secret, signers = key(tmp_path)
    signed = leave(small(), tmp_path / "signed", secret) / REPORT
    other = leave(msgspec.structs.replace(small(), tool_version="9"), tmp_path / "other") / REPORT
    pages: list[str] = []

    def keep(_one: Entry, _given: Given, page: str) -> None:
        pages.append(page)

    for order in ([other, signed], [signed, other]):
        found = read_runs(order, print, keep, signers=signers)
        assert pages[-1].encode() == signed.read_bytes()
        assert [one.signer for one in found.entries] == ["ada@example.org"]
        assert [one.record_sha256 for one in found.summaries] == [found.entries[0].sha256]
        (left,) = found.skipped
        assert left.startswith(f"{other}: its run's id is taken by {signed}")


def test_figures_of_a_contended_machine_are_marked_where_they_stand(tmp_path: Path) -> None:
    put(tmp_path / "reports", made(1), agreeing(probed(made(2, other=True), lambda *_: ("contended",)), HARDLY_CALM))
    assert publish([tmp_path / "reports"], tmp_path / "site", print).skipped == ()
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert index.count('<strong class="against">on a contended machine</strong>') == 1
    assert index.count('<small class="against">contended</small>') == 1


HOSTILE = "<script>alert(1)</script>\"'&"


def test_title_and_address_are_texts(tmp_path: Path) -> None:
    put(tmp_path / "reports", made(1))
    base = "https://example.org:8080/a/b"
    publish([tmp_path / "reports"], tmp_path / "site", print, title=HOSTILE, base=base)
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert index.count("<script") == 1
    assert "<title>&lt;script&gt;" in index
    assert '<link rel="canonical" href="https://example.org:8080/a/b/">' in index
    markdown = (tmp_path / "site" / "runs" / "run-01" / "card.md").read_text(encoding="utf-8")
    assert f"({base}/runs/run-01/card.svg)]({base}/runs/run-01/index.html)" in markdown


def test_operators_are_counted_and_not_named(tmp_path: Path) -> None:
    run = make_run(models=("mlp", "resnet50"), scenarios=("latency",))
    text = files.encode(run).replace(b'"mlp","scenario":"latency"', b'"gemm-512x1x512","scenario":"operators"')
    text = text.replace(b'"scenarios":["latency"]', b'"scenarios":["latency","operators"]')
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / files.NAME).write_bytes(text)
    (entry,) = listed(tmp_path).entries
    assert "ResNet-50" in entry.title
    assert entry.title.endswith(" 1 operator compared.")
    assert entry.models == ("operators", "ResNet-50")
    assert [column.title for column in entry.matrix.columns] == ["ResNet-50"]


@pytest.mark.parametrize("listed", [True, False])
def test_what_it_wrote_goes_and_what_others_wrote_stays(tmp_path: Path, *, listed: bool) -> None:
    reports, out = tmp_path / "reports", tmp_path / "site"
    put(reports, made(1), made(2), made(3))
    publish([reports], out, print)
    assert list(out.glob("compare/*run-03*"))
    if not listed:  # of an earlier version
        (out / MARK).write_text("0.1.0\n", encoding="utf-8")
    own = [out / name for name in ("CNAME", ".git/config", "runs/run-03/notes.txt", "runs/notes.md")]
    for path in own:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine", encoding="utf-8")
    (out / "index.html").write_text("changed", encoding="utf-8")
    shutil.rmtree(reports / "1")
    shutil.rmtree(reports / "2")
    publish([reports], out, print)
    assert all(path.read_text(encoding="utf-8") == "mine" for path in own)
    fresh = tmp_path / "fresh"
    publish([reports], fresh, print)
    assert (
        content_of(out) - {path.relative_to(out).as_posix() for path in own}
        == content_of(fresh)
        == {MARK, ".nojekyll", "index.html", "runs/run-01/index.html", "runs/run-01/card.svg", "runs/run-01/card.md"}
    )
    assert (out / "index.html").read_text(encoding="utf-8") == (fresh / "index.html").read_text(encoding="utf-8")
    assert not (out / "compare").exists()


def content_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_list_that_names_what_no_site_writes_removes_nothing(tmp_path: Path) -> None:
    put(tmp_path / "reports", made(1))
    out = tmp_path / "site"
    publish([tmp_path / "reports"], out, print)
    own = [out / "CNAME", tmp_path / "thesis.md", tmp_path / "more" / "thesis.md"]
    for path in own:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine", encoding="utf-8")
    (out / "trends").symlink_to(tmp_path / "more")
    named = ("CNAME", "../thesis.md", "runs/../../thesis.md", str(own[1]), "trends/thesis.md", "trends/\0.md")
    (out / MARK).write_text("\n".join(("0.1.0", *named, "")), encoding="utf-8")
    publish([tmp_path / "reports"], out, print)
    assert all(path.is_file() for path in own)


def test_everybody_can_read_a_site(tmp_path: Path) -> None:
    put(tmp_path / "reports", made(1), made(2))
    before = os.umask(0o077)
    try:
        publish([tmp_path / "reports"], tmp_path / "site", print)
        first = modes(tmp_path / "site")
        shutil.rmtree(tmp_path / "site" / "compare")
        publish([tmp_path / "reports"], tmp_path / "site", print)
    finally:
        os.umask(before)
    assert first == modes(tmp_path / "site") == {True: {0o755}, False: {0o644}}


def modes(site: Path) -> dict[bool, set[int]]:
    found: dict[bool, set[int]] = {True: set(), False: set()}
    for path in (site, *site.rglob("*")):
        found[path.is_dir()].add(path.stat().st_mode & 0o777)
    return found


def test_it_is_never_in_the_place_of_something_else(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    write_run(small_run(), reports / "one")
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years", encoding="utf-8")
    with pytest.raises(LevelfieldError, match="no site of Levelfield's, and could be overwritten"):
        publish([reports], precious, print)
    assert (precious / "thesis.txt").read_text(encoding="utf-8") == "years"


def test_a_run_cannot_name_its_way_out_of_the_site(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    for number, name in enumerate(("../../outside", "", ".", "a/b", "x" * 300, "good")):
        kept(msgspec.structs.replace(small_run(), id=name), reports / str(number))
    assert publish([reports], tmp_path / "site", print).runs == 1
    assert sorted(path.name for path in (tmp_path / "site" / "runs").iterdir()) == ["good"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reports", "site"]


def test_hostile_texts_are_only_texts(tmp_path: Path) -> None:
    """Names that reach the index; a record with texts where they contradict the rest is not published at all."""
    plain = msgspec.structs.replace(with_machine(made(1), cpu={"model": PAYLOAD}), id="hostile", labels=(PAYLOAD,))
    text = files.encode(plain)
    for name in (b'"openvino"', b'"mlp"'):
        text = text.replace(name, msgspec.json.encode(name.decode().strip('"') + PAYLOAD))
    (tmp_path / "reports" / "hostile").mkdir(parents=True)
    (tmp_path / "reports" / "hostile" / files.NAME).write_bytes(text)
    published = publish([tmp_path / "reports"], tmp_path / "site", print)
    assert (published.runs, published.skipped) == (1, ())
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert index.count("<script") == 1
    assert "&lt;" in index  # what would have been markup is there, as text
    assert not re.search(r"<(img|iframe|object|svg)\b", index)
    ET.fromstring((tmp_path / "site" / "runs" / "hostile" / "card.svg").read_text(encoding="utf-8"))


def keep_nothing(entry: Entry, given: Given, page: str) -> None: ...


def put(reports: Path, *runs: Run) -> Path:
    """Write each run into a folder of its number."""
    for number, run in enumerate(runs):
        kept(run, reports / str(number))
    return reports


def listed(reports: Path) -> SiteRuns:
    return read_runs(files.runs_in(reports), lambda _: None, keep_nothing)


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
    assert found == SiteRuns((), (), {}, ("0: its run's id can be no folder's name",))


def test_a_run_at_which_a_page_fails_is_left_out_and_a_full_disk_ends_it(tmp_path: Path) -> None:
    put(tmp_path, made(1), made(2), made(3))

    def fails(entry: Entry, given: Given, page: str) -> None:
        del given, page
        if entry.id == "run-01":
            raise LevelfieldError("Its page cannot be made.")
        if entry.id == "run-02":
            raise ZeroDivisionError

    found = read_runs(files.runs_in(tmp_path), lambda _: None, fails)
    assert [entry.id for entry in found.entries] == ["run-03"]
    assert [one.id for one in found.summaries] == ["run-03"]
    assert found.skipped == ("0: Its page cannot be made.", "1: its analysis ended with ZeroDivisionError")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        read_runs(files.runs_in(tmp_path), lambda _: None, full)


def test_a_folder_that_is_none_is_a_sentence_and_an_empty_one_lists_nothing(tmp_path: Path) -> None:
    assert listed(tmp_path) == SiteRuns((), (), {}, ())
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
