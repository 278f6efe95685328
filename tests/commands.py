"""Running the command as people do, in a process of its own; and calling it in this one."""

import ast
import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import pytest

import levelfield
from levelfield.cli.main import main
from tests.reported import check_reports

ROOT = Path(levelfield.__file__).parents[2]
IMPORTS = f"{ROOT / 'suite'}:{ROOT}:{ROOT / 'plugins' / 'fleet'}"
"""PYTHONPATH of a program that imports the package and the tests of this checkout."""
PATIENCE_S = 900.0
"""Of who waits for a command or for its deeds: images may have to be made first, on a busy machine."""
NO_ENGINE = {"DOCKER_HOST": "unix:///nobody/is/here.sock"}
SHOWN = {"COLUMNS": "200", "NO_COLOR": "1"}
"""Variables of every command: lines are long, and text is plain."""


class Ended(Protocol):
    """A command that ended."""

    @property
    def code(self) -> int: ...
    @property
    def out(self) -> str: ...
    @property
    def err(self) -> str: ...


class Command:
    """One `levelfield …` in a process of its own.

    Parameters
    ----------
    within
        What the interpreter is started by, where something stands around the command (`ip netns exec NAME`).
    module
        What runs the command, and its own words; `cli` is the command itself.
    """

    def __init__(
        self,
        *words: str | Path,
        folder: Path,
        environment: dict[str, str] | None = None,
        within: Sequence[str] = (),
        module: Sequence[str] = ("levelfield.cli",),
    ) -> None:
        self._folder = folder
        self._out = (folder / f"out-{time.monotonic_ns()}").open("w+", encoding="utf-8")
        self._err = (folder / f"err-{time.monotonic_ns()}").open("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [*within, sys.executable, "-m", *module, *map(str, words)], stdout=self._out, stderr=self._err,
            stdin=subprocess.DEVNULL, cwd=folder,
            env={**os.environ, **SHOWN, "PYTHONPATH": IMPORTS, "PYTHONFAULTHANDLER": "1", **(environment or {})},
        )  # fmt: skip
        self.pid = self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self) -> Self:
        """Wait for its end; then `code`, `out` and `err` are known. One that hangs says where.

        Every run that it reports on is verified: one that does not verify fails the test.
        """
        try:
            self.code = self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGABRT)
            self.code = self._process.wait(10.0)
        finally:
            self._process.kill()
            self._process.wait()
            for file in (self._out, self._err):
                file.seek(0)
            self.out, self.err = self._out.read(), self._err.read()
            self._out.close()
            self._err.close()
        check_reports(self.out, self._folder)
        return self


def run(
    *words: str | Path, folder: Path, environment: dict[str, str] | None = None, code: int | None = None
) -> Command:
    """Run a command to its end, and check its exit code where one is given."""
    done = Command(*words, folder=folder, environment=environment).wait()
    assert code in {None, done.code}, done.err + done.out
    return done


def python(code: str, *words: str | Path, **variables: str) -> str:
    """Run a program in an interpreter of its own, which finds the package and the tests; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)], cwd=ROOT,
        env={**os.environ, "PYTHONPATH": IMPORTS, **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


class Called(NamedTuple):
    """What a command that was called ended with, and what it printed."""

    code: int
    out: str
    err: str


def call(
    *words: str | Path, folder: Path, environment: dict[str, str] | None = None, code: int | None = None
) -> Called:
    """Call the command in this process, from its words to its exit code: for what it makes of files and of mistakes.

    A process of its own takes a second of CPU time to import everything. What depends on the process (signals, limits,
    what it imports, its workers) is tested with `run`.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    before = signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["levelfield", *map(str, words)])
        for name, value in {**SHOWN, **(environment or {})}.items():
            patch.setenv(name, value)
        try:
            main()
        except SystemExit as end:
            ended = end.code
        finally:
            signal.signal(signal.SIGTERM, before)
    assert isinstance(ended, int), ended
    printed, said = (each.buffer.getvalue().decode() for each in (out, err))
    assert code in {None, ended}, said + printed
    check_reports(printed, folder)
    return Called(ended, printed, said)


def one_clear_sentence(command: Ended, *says: str, code: int = 2) -> None:
    """Check that a command failed as it should: an exit code, what happened and what to do, and no traceback."""
    assert command.code == code, command.err + command.out
    assert "Traceback" not in command.err + command.out
    for text in says:
        assert text in command.err
    assert len(command.err.strip().splitlines()) <= 2, command.err


def modules_with(is_such: Callable[[ast.AST], bool]) -> set[str]:
    """Return the modules of the suite and its plug-ins whose syntax holds such a node."""
    found = set()
    for root in (ROOT / "suite" / "levelfield", *(ROOT / "plugins").glob("*/levelfield_*")):
        for path in root.rglob("*.py"):
            if any(map(is_such, ast.walk(ast.parse(path.read_text())))):
                base = root if root.name == "levelfield" else root.parent
                found.add(path.relative_to(base).with_suffix("").as_posix())
    return found


def eventually(condition: Callable[[], bool]) -> bool:
    """Wait until something is so, for `PATIENCE_S` at the most; return whether it is."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
