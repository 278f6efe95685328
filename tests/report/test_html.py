"""The page as text: what is in it, and what can never be."""

import base64
import hashlib
import itertools
import re
from functools import cache
from html.parser import HTMLParser

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.record import files
from levelfield.record import page as record_page
from levelfield.record.schema import Failure, Run, Warning_
from levelfield.report import html, names, pages
from tests.records_builder import make_run
from tests.report.hostile import PAYLOAD, make_hostile
from tests.report.plain import plain

ATTRIBUTES = {"charset", "class", "content", "datetime", "href", "http-equiv", "id", "lang", "name", "rel", "role"}
ATTRIBUTES |= {"scope", "tabindex", "title", "type"}
ATTRIBUTES |= {"autocomplete", "checked", "for", "hidden", "placeholder", "value"}  # of the controls
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Collects elements, ids, links and texts; complains of tags that do not close."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.data: dict[str, str] = {}
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in {"script", "style"}:
            kind = self.open[-1] if "type" in self.elements[-1][1] or self.open[-1] == "style" else "program"
            self.data[kind] = self.data.get(kind, "") + data
        elif "title" not in self.open:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.texts)).replace("\u2060", "")

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@cache
def standard() -> tuple[Run, str]:
    """A record of the size of a standard run: its MLP windows hold thousands of samples."""
    run = make_run(window_seconds=0.15, max_calls=5000, rounds=3, control="onnxruntime")
    return run, html.render(run, analyse(run))


def render(run: Run) -> Page:
    return Page(html.render(run, analyse(run)))


def test_the_verdict_is_the_first_heading_and_the_title() -> None:
    page = render(make_run(noise_scale=0.0))
    verdict = "MLP: onnxruntime is fastest; next openvino, +47 % (47–47 %)."
    assert next(tag for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)) == "h1"
    assert plain(page.text).index(verdict) < page.text.index("All cases: extra time over the fastest arm")
    assert page.text.index("All cases: extra") < page.text.index("How intervals and ranks are made")


def test_headings_ask_what_is_fastest_whether_to_trust_it_and_what_next() -> None:
    markup = re.sub("&#8288;", "", standard()[1])
    found = re.findall(r"<h([1-3])[^>]*>(.*?)</h\1>", markup, re.DOTALL)
    headings = [(int(level), re.sub(r"<[^>]+>|\s+", " ", text).split(" #")[0].strip()) for level, text in found]
    assert [level for level, _ in headings[:3]] == [1, 2, 2]
    who, trust, following = (text for _, text in headings[:3])
    assert who == "Latency: fastest of 7 arms on 3 models"
    assert re.match(r"Can it be trusted\? (Nothing speaks against it|\d+ reservations?)$", trust)
    assert following == "What next: check this report, or run it again"
    levels = [level for level, _ in headings]
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels)), "no level is skipped"


def test_a_moment_is_that_of_utc_wherever_it_was_written() -> None:
    assert {pages.moment(f"2026-11-28T{each}") for each in ("11:20:08Z", "20:20:08+09:00")} == {
        "28 November 2026, 11:20 UTC"
    }


def test_the_record_inside_is_the_one_that_was_rendered() -> None:
    run, text = standard()
    content = files.encode(run)
    assert record_page.record_in(text.encode()) == content
    assert hashlib.sha256(content).hexdigest() in Page(text).text


def test_nothing_is_fetched_and_nothing_runs_but_the_page_s_own_script() -> None:
    page = Page(standard()[1])
    assert [script.get("type") for script in page.all("script")] == ["application/json", None]
    assert page.data["program"] == pages.script()
    assert not page.all("img") + page.all("iframe") + page.all("object") + page.all("form") + page.all("base")
    assert [link["href"] for link in page.all("link")] == ["data:,"]
    for tag, attributes in page.elements:
        assert "style" not in attributes, tag  # the policy would refuse it
        assert not any(name.startswith("on") for name in attributes)
        assert str(attributes.get("href", "#")).startswith(("#", "data:,"))
    assert "url(" not in page.data["style"]
    assert "@import" not in page.data["style"]


def test_the_script_makes_no_markup_and_no_requests() -> None:
    script = pages.script()
    for word in ("HTML", "Html", "write(", "eval", "Function(", "fetch", "XMLHttp", "import"):
        assert word not in script
    for word in ("WebSocket", "cookie", "Storage", "</", "<!--", "http:", "https:"):
        assert word not in script.replace('"http://www.w3.org/2000/svg"', "")
    assert len(script.encode()) < 40_000


def test_the_policy_allows_this_style_sheet_and_this_script_and_nothing_else() -> None:
    page = Page(standard()[1])
    (policy,) = (meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    style, program = (
        base64.b64encode(hashlib.sha256(page.data[kind].encode()).digest()).decode() for kind in ("style", "program")
    )
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{program}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def test_ids_are_unique_and_every_link_within_the_page_leads_somewhere() -> None:
    page = Page(standard()[1])
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {str(link["href"])[1:] for link in page.all("a")} <= set(ids)


def test_anchors_of_cases_are_stable_and_all_different() -> None:
    assert names.anchors(["mlp/latency/fp32/b1/t2/cpu"]) == ("case-mlp-latency-fp32-b1-t2-cpu",)
    assert names.anchors(["a/b", "a-b", "A b", '"']) == ("case-a-b", "case-a-b-2", "case-a-b-3", "case")
    hostile = Page(html.render(run := make_hostile(variants=True), analyse(run)))
    ids = [attributes["id"] for _, attributes in hostile.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_tables_have_captions_and_scopes_and_scroll_alone() -> None:
    page = Page(standard()[1])
    assert len(page.all("table")) == len(page.all("caption")) > 10
    assert all(cell.get("scope") in {"row", "col"} for cell in page.all("th"))
    regions = [attributes for _, attributes in page.elements if attributes.get("class") == "scroll"]
    assert len(regions) == len(page.all("table"))
    assert all(region.get("aria-label") and region.get("tabindex") == "0" for region in regions)
    assert {region.get("role") for region in regions} == {"group"}  # so many landmarks would be none


@pytest.mark.parametrize("variants", [False, True])
def test_a_hostile_record_is_only_text(variants: bool) -> None:
    text = html.render(run := make_hostile(variants=variants), analyse(run))
    page = Page(text)
    assert len(page.all("script")) == 2
    assert not page.all("img")
    assert PAYLOAD not in text
    assert "<svg onload" not in text
    assert "</script></style>" not in text
    for tag, attributes in page.elements:
        assert not any(name.startswith("on") for name in attributes), tag
        if tag not in {"svg", "rect", "line", "circle", "text", "path"}:
            assert {name for name in attributes if not name.startswith(("aria-", "data-"))} <= ATTRIBUTES
        for name in ("class", "id", "href"):
            assert re.fullmatch(r"[A-Za-z0-9 #:,_-]*", attributes.get(name) or "")
    assert "{{7*7}}" in page.text
    assert "49" not in re.findall(r"window\.owned=1 (\S+?)\{%", page.text)
    assert record_page.record_in(text.encode()) == files.encode(run)


@pytest.mark.parametrize("launcher", ["venv", "host"])
def test_another_place_than_a_container_is_said_before_the_verdict(launcher: str) -> None:
    run = make_run(models=("mlp",), launcher=launcher)  # type: ignore[arg-type]
    page = render(run)
    place = page.text.index("not in containers" if launcher == "venv" else "in neither containers nor")
    assert place < page.text.index("is fastest on")
    assert any("place-loud" in str(attributes.get("class")) for _, attributes in page.elements)


def test_a_failed_and_an_unequal_result_are_shown_as_such() -> None:
    crash = Failure(stage="load", kind="crashed", message="It ended with signal 9.", detail="line 1\nline 2")
    page = render(make_run(models=("bert",), failures={("jax", "bert"): crash}, unequal=[("torch", "bert")]))
    assert "jax failed It ended with signal 9." in page.text
    assert "failed at load (crashed): It ended with signal 9." in page.text
    assert "torch not equal relative error 4.6e-02 is over 1e-05" in page.text
    assert "5 of 7" in page.text


def test_a_smoke_run_ranks_nothing() -> None:
    page = render(make_run(generations=2, scenarios=("latency",), labels=("smoke",)))
    assert "A smoke run: it shows whether everything works" in page.text
    assert "Nothing is ranked: 2 launches, and a ranking takes 5." in page.text
    assert "best" not in [text.strip() for text in page.texts]


def test_warnings_stand_with_their_remedies_and_code_in_ticks() -> None:
    warning = Warning_(code="x", message="The governor is `powersave`.", remedy="Set <it>.", about="cpu")
    text = html.render(run := make_run(models=("mlp",), warnings=(warning,)), analyse(run))
    assert "The governor is <code>powersave</code>." in text
    assert "Set &lt;it&gt;." in text


def test_a_run_cut_off_says_so_first() -> None:
    page = render(make_run(models=("mlp",), finished=False))
    assert page.text.index("This run was cut off before its end.") < page.text.index("is fastest on")


def test_an_empty_record_has_a_page() -> None:
    run = make_run()
    page = render(msgspec.structs.replace(run, blocks=(), images=(), artifacts=(), machine={}, command=()))
    assert "Nothing was measured." in page.text
