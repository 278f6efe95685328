"""Every command of every page is understood, and run: here, by a test that is named here, or by none, with a reason."""

import itertools
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from docs.site import checking
from tests.commands import ROOT, call, run
from tests.compare.gates import keep
from tests.records_builder import make_run

DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md"), DOCS / "plugin-template" / "README.md"])
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
PASTED = (ROOT / "README.md", DOCS / "install.md", DOCS / "tutorial.md", DOCS / "choose.md")
"""Pages that a newcomer pastes commands from, into an interactive zsh too."""
CHEAP = {"list", "schema", "export", "compare", "baseline", "history", "verify", "publish", "report"}
"""Commands that only read records."""
NOT_HERE = re.compile("--(model|data|gpu|threads) |--cpus 32|@cu1|-cuda|tf32|RUN|example|litert")
"""What measuring commands name that a machine may not have: files, data, GPUs, plug-ins, CPUs, locks."""
ELSEWHERE = {
    "plugins/fleet/tests/fleet/test_cli.py": ("levelfield fleet",),
    "plugins/readers/tests/test_importing.py": ("levelfield import",),
    "studies/tests/test_commands.py": ("nox -f studies",),
    "tests/cli/test_images.py": ("levelfield images",),
    "tests/cli/test_machine.py": ("levelfield doctor",),
    "tests/cli/test_measure.py": ("levelfield explain",),
    "tests/cli/test_upgrade.py": ("levelfield upgrade",),
    "tests/images/test_bundle.py": ("PIP_NO_INDEX", ".venv/bin/levelfield images load"),
    "tests/test_package.py": ("pipx", "python3 -m venv", "SOURCE_DATE_EPOCH", "~/.local/share"),
    "tests/test_plugins.py": ("levelfield plugins",),
    "tests/test_recipes.py": ("recipes/",),
    "tests/test_smoke.py": ("levelfield reproduce",),
}
"""Which tests run commands, by how these begin."""
NOT_RUN = {
    "it installs what is tested here, or changes this machine": ("make", "pip", "pytest", "sudo", "uv"),
    "it asks an index": ("nox -s lock",),
    "it takes transformers, minutes, a GPU or QEMU": ("python -", "LEVELFIELD_ARCHITECTURE"),
    "it is the shell's own": ("cd", "cp", "export", "mkdir"),
}
"""Why no test runs commands, by how these begin."""


def blocks(page: Path) -> list[str]:
    """Return the lines of a page's indented blocks, which hold commands alone."""
    text = re.sub(r"^```.*?^```|<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [line.strip() for line in text.splitlines() if line.startswith("    ")]


EVERY = sorted({re.split(r"\s#\s", text)[0].strip() for page in PAGES for text in blocks(page)})
OURS = [text for text in EVERY if text.startswith("levelfield")]
MEASURES = [text for text in OURS if text.split()[1] in {"bench", "ab"}]
READS = [text for text in OURS if text.split()[1] in CHEAP]


def test_every_command_is_run_or_there_is_a_reason() -> None:
    left = set(EVERY) - {*MEASURES, *READS}
    assert all((ROOT / name).is_file() for name in ELSEWHERE)
    for begins in itertools.chain(*ELSEWHERE.values(), *NOT_RUN.values()):
        found = {text for text in left if text.startswith(begins)}
        assert found, f"{begins}: no page has it"
        left -= found
    assert not left


@pytest.mark.parametrize("text", OURS)
def test_levelfield_understands_it(text: str) -> None:
    checking.understand(text)


@pytest.mark.docker
@pytest.mark.parametrize("text", [text for text in MEASURES if not NOT_HERE.search(text)])
def test_what_measures_is_planned(text: str, tmp_path: Path) -> None:
    call(*shlex.split(re.split("[|>]", text)[0])[1:], "--dry-run", folder=tmp_path, code=0)


@pytest.mark.parametrize("page", PASTED, ids=lambda page: page.name)
def test_a_newcomers_commands_paste_into_any_shell(page: Path) -> None:
    """An interactive zsh has no comments, takes < and > for files, and expands brackets and braces."""
    found = blocks(page)
    assert found
    for text in found:
        assert not re.search(r"(^|\s)#|[<>\[\]{}]|…|\.\.\.", text), text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs, pages and baselines that the pages speak of."""
    place = tmp_path_factory.mktemp("docs")
    for number, name in enumerate(("OLD", "NEW", "A1", "A2", "A3", "B1", "B2", "B3", "RUN"), start=1):
        made = make_run(seed=number, models=("resnet50",), backends=("onnxruntime", "openvino"), rounds=2, max_calls=5)
        made = msgspec.structs.replace(made, id=name, started=f"2026-01-{number:02}T10:00:00Z")
        keep(made, place / "reports")
    run("report", place / "reports" / "RUN", folder=place, code=0)
    (place / "report.html").write_bytes((place / "reports" / "RUN" / "report.html").read_bytes())
    (place / "people").write_text("", encoding="utf-8")
    assert run("baseline", "set", "good", "A1", "A2", "A3", folder=place).code == 0
    assert run("baseline", "derive", "good", folder=place).code == 0
    (place / "published").mkdir()
    shutil.copytree(ROOT / "reports", place / "published" / "reports")
    return place


@pytest.mark.parametrize("text", READS)
def test_what_only_reads_is_run(text: str, folder: Path) -> None:
    words = shlex.split(text)[1:]
    published = any(word.startswith("reports/20") for word in words)
    done = run(*words, folder=folder / "published" if published else folder)
    assert done.code in (0, 1, 3), done.err + done.out
    assert "Traceback" not in done.err


def test_python_of_a_page_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (code,) = re.findall(
        r"^```python\n(.*?)^```", (DOCS / "exchange.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["report"].run.id == "RUN"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link
