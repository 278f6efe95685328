"""What a stranger wrote, and what a folder is called, is only shown by a terminal: in every command that shows it."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from levelfield.record import files
from tests.commands import IMPORTS
from tests.share.evidence import small

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m"
TURNS = "\u202e\u2066\u200f\u061c"
MARKUP = "[/b][bold red]x[/]"
NAME = f"run {ESCAPES}{TURNS}{MARKUP}"
COMMANDS = (
    ("report", "RUN"), ("export", "RUN"), ("report", "RUN", "--card", "cards"), ("verify", "RUN"),
    ("reproduce", "RUN", "--dry-run"),
    ("compare", "RUN", "RUN"), ("baseline", "set", "good", "RUN"), ("history",), ("publish",),
)  # fmt: skip


def hostile(folder: Path) -> Path:
    """A run whose folder, id and arms speak to the terminal."""
    content = msgspec.json.encode(msgspec.structs.replace(small(), id=NAME, started=NAME, tool_version=NAME))
    arm = msgspec.json.encode(f"jax{NAME}")
    place = folder / "reports" / NAME.replace("/", "")
    place.mkdir(parents=True)
    (place / files.NAME).write_bytes(content.replace(b'"jax"', arm))
    files.read(place)
    return place


@pytest.mark.sampled(6)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_nothing_of_it_is_interpreted(tmp_path: Path, words: tuple[str, ...], encoding: str) -> None:
    place = hostile(tmp_path)
    typed = [str(place) if word == "RUN" else word for word in words]
    done = subprocess.run(
        [sys.executable, "-m", "levelfield.cli", *typed], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": IMPORTS, "PYTHONIOENCODING": encoding}, stdin=subprocess.DEVNULL,
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1, 2, 3)
    said = done.stdout + done.stderr
    assert said
    assert "Traceback" not in said
    assert "failed unexpectedly" not in said
    assert not set(said) & set("\x1b\x07\x9b" + TURNS)
