"""Every command in the README and in docs/ is one that the tool understands; those that take no minutes are run."""

import re
import shlex
from pathlib import Path

import msgspec
import pytest

from docs.site import checking
from tests.commands import ROOT, run
from tests.compare.gates import keep
from tests.records_builder import make_run

DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.glob("*.md")])
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
PASTED = ("README.md", "install.md", "tutorial.md", "choose.md")
"""Pages that a newcomer pastes commands from, into an interactive zsh too."""
CHEAP = {"list", "schema", "export", "compare", "baseline", "history", "verify", "publish", "report"}
"""Commands that only read records."""


def blocks(page: Path) -> list[str]:
    """Return the lines of a page's indented code blocks."""
    text = re.sub(r"^```.*?^```|<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [line.strip() for line in text.splitlines() if line.startswith("    ")]


def commands(page: Path) -> list[str]:
    return checking.commands(page.read_text(encoding="utf-8"))


EVERY = [(page.name, text) for page in PAGES for text in commands(page)]


@pytest.mark.parametrize("text", sorted({text for _, text in EVERY if text.startswith("levelfield")}))
def test_levelfield_understands_it(text: str) -> None:
    checking.understand(text)


@pytest.mark.parametrize("page", PASTED)
def test_a_newcomers_commands_paste_into_any_shell(page: str) -> None:
    """An interactive zsh has no comments, takes < and > for files, and expands brackets and braces."""
    (path,) = [each for each in PAGES if each.name == page and each.parent == (ROOT if page == "README.md" else DOCS)]
    found = blocks(path)
    assert found
    for text in found:
        assert not re.search(r"(^|\s)#|[<>\[\]{}]|…|\.\.\.", text), text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs, pages and baselines that the pages speak of."""
    place = tmp_path_factory.mktemp("docs")
    for number, name in enumerate(("OLD", "NEW", "A1", "A2", "A3", "B1", "B2", "B3", "RUN"), start=1):
        made = make_run(
            seed=number,
            models=("resnet50",),
            backends=("onnxruntime", "openvino"),
            generations=5,
            rounds=2,
            max_calls=5,
        )
        made = msgspec.structs.replace(made, id=name, started=f"2026-01-{number:02}T10:00:00Z")
        keep(made, place / "reports")
    printed = run("report", place / "reports" / "RUN", folder=place)
    assert printed.code == 0, printed.err
    (place / "report.html").write_bytes((place / "reports" / "RUN" / "report.html").read_bytes())
    (place / "people").write_text("", encoding="utf-8")
    assert run("baseline", "set", "good", "A1", "A2", "A3", folder=place).code == 0
    assert run("baseline", "derive", "good", folder=place).code == 0
    (place / "published").mkdir()
    (place / "published" / "reports").symlink_to(ROOT / "reports")
    return place


@pytest.mark.parametrize(
    "text",
    sorted({text for _, text in EVERY if text.startswith("levelfield") and shlex.split(text)[1] in CHEAP}),
)
def test_what_only_reads_is_run(text: str, folder: Path) -> None:
    words = shlex.split(text)[1:]
    published = any(word.startswith("reports/20") for word in words)
    done = run(*words, folder=folder / "published" if published else folder)
    assert done.code in (0, 1, 3), done.err + done.out
    assert "Traceback" not in done.err


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link
