"""What docs/adding.md says is enough: a model, a backend, a column, an option … added to a copy of the tree."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.commands import ROOT

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NEW_FILE = re.compile(r"(?:# |\{# )(suite/\S+)(?: #\})?\n")
_EDIT = re.compile(r"--- (suite/\S+)\n")


class Change(NamedTuple):
    """What a section of the guide has done to the tree."""

    added: frozenset[str]
    edited: frozenset[str]


def section(title: str) -> str:
    """Return the text of a section of the guide."""
    found = re.split(r"^## (.*)\n", (ROOT / "docs" / "adding.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))[title]


def follow(title: str, tree: Path) -> Change:
    """Write the files of a section and make its edits; each edit must fit in exactly one place."""
    added, edited = set(), set()
    for language, text in _BLOCK.findall(section(title)):
        head = (_EDIT if language == "diff" else _NEW_FILE).match(text)
        assert head is not None, text
        path, body = tree / head[1], text[head.end() :]
        if language == "diff":
            lines = body.splitlines(keepends=True)
            old = "".join(line[1:] for line in lines if line[0] in " -")
            new = "".join(line[1:] for line in lines if line[0] in " +")
            before = path.read_text(encoding="utf-8")
            assert before.count(old) == 1, f"{head[1]} has this {before.count(old)} times:\n{old}"
            path.write_text(before.replace(old, new), encoding="utf-8")
            edited.add(head[1])
        else:
            assert not path.exists()
            path.parent.mkdir(exist_ok=True)
            path.write_text(body, encoding="utf-8")
            added.add(head[1])
    return Change(frozenset(added), frozenset(edited))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "suite", folder / "suite", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "images", folder / "images")
    return folder


@pytest.fixture(scope="module")
def changes(tree: Path) -> dict[str, Change]:
    titles = re.findall(r"^## (.*)\n", (ROOT / "docs" / "adding.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {title: follow(title, tree) for title in titles}


def levelfield(tree: Path, *words: str) -> str:
    """Run a command of the changed tree; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "levelfield.cli", *words],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree / "suite"), "LEVELFIELD_CACHE": str(tree / "cache"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_few_files_are_touched(changes: dict[str, Change]) -> None:
    found = [f"{title.split()[1]} {len(new)} {len(edited)}" for title, (new, edited) in changes.items() if new | edited]
    assert ", ".join(found) == "model 2 1, backend 1 1, scenario 0 1, column 0 1, option 0 4, section 1 1"


@pytest.mark.usefixtures("changes")
def test_they_are_listed(tree: Path) -> None:
    shown = levelfield(tree, "list")
    for text in ("Linear 64-10", "numpy", "burst"):
        assert text in shown


@pytest.mark.usefixtures("changes")
def test_they_are_measured_compared_and_shown(tree: Path) -> None:
    words = "--profile smoke --launcher host --models linear --backends numpy --scenarios latency,burst --threads 1"
    levelfield(tree, "bench", *words.split(), "--launches", "3", "--reports", str(tree / "reports"))
    (page,) = (tree / "reports").glob("*/report.html")
    # As plain JSON: the reader of this tree does not know the scenario.
    levelfield(tree, "export", str(page), "--record", str(tree / "record.json"))
    blocks = json.loads((tree / "record.json").read_bytes())["blocks"]
    assert [(block["case"]["model"], block["case"]["scenario"], block["case"]["batch"]) for block in blocks] == [
        ("linear", "latency", 1),
        ("linear", "burst", 8),
    ]
    launches = [launch for block in blocks for each in block["generations"] for launch in each["launches"]]
    assert {launch["arm"] for launch in launches} >= {"numpy", "canary"}
    for launch in launches:
        assert launch["failure"] is None
        assert launch["parity"]["equal"]
    shown = page.read_text(encoding="utf-8")
    assert all(len(block["generations"]) >= 3 for block in blocks)
    for text in (
        "Linear",
        "Bursts",
        "Slowest launch",
        "--launches 3",
        'class="b-numpy" title="NumPy"',
        "--b-numpy: #3f4fa3;",
        "--b-numpy: #9aa7f0;",
    ):
        assert text in shown
    assert 'id="versions"' in shown
