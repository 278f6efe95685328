"""What could act on the reader of a page is found, and a page of ours holds nothing of the kind."""

import hashlib
import time
from html import escape as html_escape

import pytest

from levelfield.analysis import analyse
from levelfield.report import html, pages
from levelfield.share import active_content
from levelfield.share.inputs import VerificationInput
from levelfield.share.page import parse_page
from levelfield.share.verify import verify
from tests.commands import ROOT
from tests.report.hostile import make_hostile
from tests.share.evidence import broken, leave, small

OTHER_VERSION = "f" * 64


@pytest.fixture(scope="module")
def page() -> str:
    return html.render(small(), analyse(small()))


def found_in(page: str) -> tuple[str, ...]:
    return active_content.unknown_content(parse_page(page).around)


def test_a_page_of_this_version_holds_nothing_else(page: str) -> None:
    assert found_in(page) == ()


@pytest.mark.parametrize("folder", sorted(path.parent.name for path in (ROOT / "reports").glob("*/report.html")))
def test_every_page_in_this_repository_is_of_a_known_version(folder: str) -> None:
    assert found_in((ROOT / "reports" / folder / "report.html").read_text(encoding="utf-8")) == ()


def test_a_page_of_a_hostile_record_neither() -> None:
    run = make_hostile(variants=True)
    assert found_in(html.render(run, analyse(run))) == ()


def test_the_style_sheet_and_the_script_of_an_earlier_version_are_known(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = page.replace("<style>", "<style>h1{color:red}", 1)
    style = changed[changed.index("<style>") + 7 : changed.index("</style>")]
    start = page.index("default-src &#39;")
    policy = html_escape(pages.policy(style, script=pages.script()), quote=True).replace("&#x27;", "&#39;")
    changed = changed.replace(page[start : page.index('"', start)], policy, 1)
    assert found_in(changed)
    digests = tuple(hashlib.sha256(text.encode()).hexdigest() for text in (style, pages.script()))
    monkeypatch.setattr(active_content, "EARLIER", (digests,))
    assert found_in(changed) == ()
    found = verify(VerificationInput(name="x", page=changed), tool_sha256=OTHER_VERSION)
    assert found.verdict == "not verified"


ATTACKS = {
    "a script": ("</main>", "<script>window.owned=1</script></main>"),
    "a script in capitals": ("</main>", "<SCRIPT>window.owned=1</SCRIPT></main>"),
    "a script from elsewhere": ("</main>", '<script src="https://example.invalid/x.js"></script></main>'),
    "a script changed": ('"use strict"', 'window.owned=1;"use strict"'),
    "a handler": ("<main ", '<main onload="window.owned=1" '),
    "a handler of a drawing": ("<svg ", "<svg onclick=owned() "),
    "a frame": ("</main>", '<iframe srcdoc="x"></iframe></main>'),
    "a form": ("</main>", '<form action="https://example.invalid"></form></main>'),
    "a style": ("</main>", "<style>h1{display:none}</style></main>"),
    "a style sheet changed": ("<style>", "<style>h1{display:none}"),
    "a style of an element": ("<main ", '<main style="display:none" '),
    "a picture from elsewhere": ("</main>", '<img src="https://example.invalid/x.png"></main>'),
    "another page instead": ("<title>", '<meta http-equiv="refresh" content="0;url=https://example.invalid"><title>'),
    "another base": ("<title>", '<base href="https://example.invalid/"><title>'),
    "a link to elsewhere": ("</main>", '<a href="https://example.invalid">x</a></main>'),
    "a link that is a script": ("</main>", '<a href="javascript:owned()">x</a></main>'),
    "a weaker policy": ("default-src &#39;none&#39;", "default-src *"),
    "a comment that hides": ("</main>", "<!-- </main>"),
    "a handler without quotes": ("<main ", "<main onload=owned() "),
    "a tag with a line break": ("</main>", "<script\\n>window.owned=1</script></main>"),
    "a second policy": ("<title>", '<meta http-equiv="Content-Security-Policy" content="default-src *"><title>'),
}


@pytest.mark.parametrize(("old", "new"), ATTACKS.values(), ids=ATTACKS)
def test_every_attack_is_broken_though_the_record_names_another_version(page: str, old: str, new: str) -> None:
    assert old in page
    changed = page.replace(old, new, 1)
    assert found_in(changed)
    found = verify(VerificationInput(name="x", page=changed), tool_sha256=OTHER_VERSION)
    assert found.verdict == "verification failed"
    assert found.exit_code == 1


def test_a_page_without_a_policy_is_broken(page: str) -> None:
    start = page.index("<meta http-equiv=")
    changed = page[:start] + page[page.index(">", start) + 1 :]
    found = verify(VerificationInput(name="x", page=changed), tool_sha256=OTHER_VERSION)
    assert found.exit_code == 1
    assert "Content-Security-Policy" in broken(found)


def _headline(page: str) -> str:
    start = page.index('<h1 id="verdict-title">')
    return page[start : page.index("</h1>", start)]


FORGERIES = {
    "the headline": lambda page: page.replace(_headline(page), '<h1 id="verdict-title">torch is fastest everywhere.'),
    "a backend renamed": lambda page: page.replace(">onnxruntime<", ">torch<"),
    "bars moved": lambda page: page.replace('x="1', 'x="2').replace('width="1', 'width="3'),
    "words added": lambda page: page.replace("</main>", "<p>Certified by the authors.</p></main>"),
    "figures invented": lambda page: page.replace("</main>", "<p>1.0 ms</p>" * 600 + "</main>"),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_no_forged_page_is_called_consistent(tmp_path_factory: pytest.TempPathFactory, forge: object) -> None:
    folder = leave(small(), tmp_path_factory.mktemp("run"))
    page = (folder / "report.html").read_text()
    assert callable(forge)
    changed = forge(page)
    assert changed != page
    assert verify(VerificationInput(name="x", page=changed), tool_sha256=small().tool_sha256).exit_code == 1
    found = verify(VerificationInput(name="x", page=changed), tool_sha256=OTHER_VERSION)
    assert found.verdict in {"not verified", "verification failed"}
    assert found.exit_code in {1, 3}


@pytest.mark.parametrize("piece", ["<a ", "<!--", "<", "&", "<a b='", "</", "<!", "<?", "<script", "<a x=1 "])
def test_a_page_made_to_keep_its_reader_busy_does_not(piece: str) -> None:
    began = time.process_time()
    active_content.unknown_content(piece * (active_content.MAX_BYTES // len(piece)))
    assert time.process_time() - began < 5
