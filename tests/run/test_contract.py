"""The contract finds what is wrong with a backend, and nothing where nothing is."""

import shutil
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.launchers.host import HostLauncher
from levelfield.run.contract import Check, check
from levelfield.schedule.listener import SilentListener
from tests import plugged

MODULE = "levelfield_example/example.py"


def checked(folder: Path, *edits: tuple[str, str, str]) -> list[Check]:
    """Install the template with edits (file, old, new), and check its backend in this interpreter."""
    project = folder / "project"
    shutil.copytree(plugged.TEMPLATE, project)
    for name, old, new in edits:
        text = (project / name).read_text()
        assert text.count(old) == 1
        (project / name).write_text(text.replace(old, new))
    with plugged.seen(plugged.install(project, folder / "installed")):
        return list(check("example", "linear", HostLauncher(), SilentListener()))


def test_the_template_keeps_it(tmp_path: Path) -> None:
    found = checked(tmp_path)
    assert not [each for each in found if each.state == "failed"]
    names = {each.name for each in found if each.state == "passed"}
    assert names >= {
        "its entry imports no framework", "fp32: it loads", "fp32: it answers as the reference does",
        "fp32: it answers so again", "fp32: it says what it was set to", "fp32: it keeps to 1 thread",
        "it refuses precision bf16", "it refuses no thread at all", "it goes on after refusals",
        "fp32: it frees what it loaded before",
    }  # fmt: skip


ENTRY = "levelfield_example/__init__.py"
LOAD = "        model = models.get(source.model)\n"
LEAK = LOAD + "        self.__dict__.setdefault('kept', []).append(np.ones(3 << 20))\n"


WRONG = (
    (
        (MODULE, "astype(np.float32)", "astype(np.float32) * np.float32(1.001)"),
        "fp32: it answers as the reference does",
    ),
    ((MODULE, '        require_supported("example", options)\n', ""), "it refuses precision bf16"),
    ((MODULE, '{"threads": self._threads}', "{}"), "fp32: it says what it was set to"),
    ((MODULE, LOAD, LEAK), "fp32: it frees what it loaded before"),
    ((ENTRY, "\nEXAMPLE =", "\nimport wave\n\nEXAMPLE ="), "its entry imports no framework"),
)
"""Edits, and the check that finds each."""


def test_what_is_wrong_is_found(tmp_path: Path) -> None:
    edits = [(ENTRY, 'imports=("numpy",)', 'imports=("numpy", "wave")'), *(edit for edit, _ in WRONG)]
    failed = {each.name for each in checked(tmp_path, *edits) if each.state == "failed"}
    assert failed >= {name for _, name in WRONG}
    assert "fp32: it loads" not in failed


@pytest.mark.parametrize(
    ("backend", "model", "says"),
    [
        ("torhc", "mlp", "There is no backend called 'torhc'"),
        ("onnxruntime", "mpl", "There is no model called 'mpl'"),
        ("tensorrt", "mlp", "does not compute mlp on a CPU"),
    ],
)
def test_what_cannot_be_checked_is_said(backend: str, model: str, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        list(check(backend, model, HostLauncher(), SilentListener()))
