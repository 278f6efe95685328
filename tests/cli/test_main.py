"""The command as people type it: every mistake ends in one sentence with the fix, and exit code 2."""

import os
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from levelfield.paths import MARK
from levelfield.record import files
from levelfield.record.page import NAME as REPORT
from tests.commands import IMPORTS, NO_ENGINE, Command, call, eventually, one_clear_sentence, python, run
from tests.share.evidence import leave, small

needs_no_jax = pytest.mark.skipif(find_spec("jax") is not None, reason="this interpreter has jax")
JAX = ("bench", "--profile", "smoke", "--models", "mlp", "--backends", "jax", "--launcher", "host", "--reports")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--models", "resnet"], ["There is no model called 'resnet'.", "Did you mean 'resnet50' or 'mobilenet'?"]),
        (["--backends", "torhc"], ["There is no backend called 'torhc'.", "Did you mean 'torch'"]),
        (["--backends", "ort", "--control", "tf"], ["There is no backend called 'tensorflow'.", "Known: onnxruntime."]),
        (["--profile", "quick"], ["There is no profile called 'quick'.", "Known: full, smoke, standard."]),
        (["--threads", "100000"], ["100000 threads were asked for, and this process may use", "fewer"]),
        (["--processes", "1,2"], ["Only training is divided among processes", "--scenarios training"]),
        (["--resume", "20200101-000000-standard-0000"], ["There is no run '20200101-000000-standard-0000' to go on"]),
        (["--launcher", "docker"], ["No container engine answers", "--launcher venv"]),
    ],
)
def test_what_cannot_be_run(tmp_path: Path, words: list[str], says: list[str]) -> None:
    """None of these needs an engine to be found out, but the last."""
    one_clear_sentence(call("bench", *words, folder=tmp_path, environment=NO_ENGINE), *says)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["bench", "--budget", "soon"], "not a duration such as 90s, 10m or 2h"),
        (["bench", "--margin", "200%"], "not a percentage such as 2%"),
        (["bench", "--batch", "1,two"], "not a list of whole numbers"),
        (["bench", "--launcher", "podman"], "'docker', 'venv', 'host'"),
        (["bench", "--modles", "mlp"], "No such option"),
        (["bench", "--budget", "10"], "'10' has no unit: write 10s or 10m. See `levelfield bench --help`."),
        (["bench", "--batch", ","], "',' holds no number"),
        (["bench", "--margin", ".5"], "'.5' has no unit: write .5% or 50%."),
        (["benhc"], "No such command 'benhc'. Did you mean 'bench'? See `levelfield --help`."),
        (["report"], "Missing argument 'RUN'. See `levelfield report --help`."),
    ],
)
def test_what_cannot_be_understood(tmp_path: Path, words: list[str], says: str) -> None:
    """The style is that of every other error: what happened, and what to do."""
    one_clear_sentence(call(*words, folder=tmp_path), says)


def test_a_command_begins_without_what_it_may_never_need() -> None:
    """Each of these takes half a second to import, which a command that refuses its options would wait for in vain."""
    loaded = "import sys, levelfield.cli, levelfield.run.start, levelfield.compare.comparison; print(*sys.modules)"
    modules = python(loaded).split()
    assert "scipy" in modules
    assert not {"scipy.stats", "scipy.optimize"} & set(modules)


@needs_no_jax
def test_a_run_in_which_nothing_could_answer(reports: Path, tmp_path: Path) -> None:
    command = run(*JAX, reports, folder=tmp_path)
    assert "Traceback" not in command.err
    assert "jax needs the module jax, which is not installed here" in command.out
    (folder,) = (path for path in reports.iterdir() if path.is_dir())
    assert files.read(folder).finished
    assert (folder / REPORT).exists()
    assert f"Report: {folder / REPORT}" in command.out
    assert "--reports" not in files.read(folder).command
    assert str(tmp_path) not in files.content_of(folder).decode()


def test_reports_on_a_read_only_disk(small_disk: Path, tmp_path: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    one_clear_sentence(
        run(*JAX, small_disk, folder=tmp_path), "Reports cannot be written to", "Read-only file system", "--reports"
    )


def test_a_cache_that_is_full(small_disk: Path, tmp_path: Path, reports: Path) -> None:
    command = run(*JAX, reports, folder=tmp_path, environment={"LEVELFIELD_CACHE": str(small_disk)})
    one_clear_sentence(command, "The disk is full", "levelfield images clean")
    left = [path for path in small_disk.rglob("*") if path.is_file() and path.stat().st_size > 0]
    assert not left, "half a file would be taken for a whole one by the next run"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_while_it_is_imported(tmp_path: Path, number: signal.Signals) -> None:
    """An exception could be lost in a callback of an import, and the command would go on."""
    (tmp_path / "interrupted.py").write_text(
        f"""import os, sys
from levelfield.cli import __main__ as command

class Interrupt:
    def find_spec(self, name, *_):
        if name == "levelfield.cli.measure":
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Interrupt())
command.start()
""",
        encoding="utf-8",
    )
    started = Command(
        "list", folder=tmp_path, module=["interrupted"], environment={"PYTHONPATH": f"{tmp_path}:{IMPORTS}"}
    )
    one_clear_sentence(started.wait(), "Interrupted.")
    assert started.out == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_while_it_prepares(tmp_path: Path, reports: Path, number: signal.Signals) -> None:
    """A fresh cache keeps it busy making the weights of all models."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = Command(
        "bench", "--launcher", "host", "--backends", "jax", "--reports", reports,
        folder=tmp_path, environment={"LEVELFIELD_CACHE": str(tmp_path / "cache"), "TMPDIR": str(temporary)},
    )  # fmt: skip
    assert eventually(lambda: not command.running or (tmp_path / "cache" / "artifacts").exists())
    command.send(number)
    one_clear_sentence(command.wait(), "Interrupted.")
    assert not list(temporary.iterdir())
    assert not [each for each in (tmp_path / "cache").glob("temporary/*") if each.name != MARK]
    shutil.rmtree(tmp_path / "cache")


@pytest.mark.parametrize(
    ("words", "redirected", "code"),
    [
        ("verify run", "| true", 0), ("verify run", ">&-", 0), ("verify run", "2>&- >&-", 0),
        ("verify torn.html", "2>&1 | true", 1), ("schema", "| head -1", 0), ("--help", "| true", 0),
        ("verify run", "> /dev/full", 2), ("verify run --page /dev/full", "", 2),
    ],
)  # fmt: skip
def test_where_output_goes_is_no_verdict(tmp_path: Path, words: str, redirected: str, code: int) -> None:
    page = leave(small(), tmp_path / "run") / REPORT
    (tmp_path / "torn.html").write_text(page.read_text().replace("</main>", "<p></main>"))
    command = f"set -o pipefail; {sys.executable} -m levelfield.cli {words} {redirected}"
    environment = {**os.environ, "PYTHONPATH": IMPORTS}
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done
    assert "Traceback" not in done.stderr
    assert ("No space left" in done.stderr or "The disk is full (standard output)" in done.stderr) == (code == 2)
    assert Path("/dev/full").is_char_device()
