"""What is said before a run begins, and what is asked; all of it in environments, where no engine is needed."""

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from levelfield import plan
from levelfield.images.build import estimate
from levelfield.launchers.host import VenvLauncher
from levelfield.plan import Selection
from levelfield.record import warnings as notices
from levelfield.run.announce import LARGE_BYTES, announce
from levelfield.run.options import Options
from tests.commands import IMPORTS, NO_ENGINE, call
from tests.machine.processes import BUSY, process

TF = ("--models", "mlp", "--backends", "tf", "--launcher", "venv")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("bench",), "2 backends (onnxruntime, tensorflow) × 1 model × memory, latency, throughput on"),
        (("bench",), ": 3 cases, 7 results, measured for about 6 min."),
        (("bench", "--profile", "smoke", "--budget", "90s"), "1 case, 3 results, measured for 90 s at the most."),
        (("bench", "--budget", "2m"), ": 3 cases, 7 results, measured for 2 min at the most."),
        (("bench", "--budget", "9s"), "Nothing can be ranked in 9 s: 5 launches of each of 2 arms take 10 s at"),
        (("ab", "ort", "tf"), ": 3 cases, 6 results, measured for 10 min at the most."),
        (("ab", "ort", "tf"), "To be made first: onnxruntime, tensorflow, canary, exporter (about"),
        (("ab", "ort", "tf"), "GB of disk,"),
        (("bench", "--until", "5m"), ": 1 case, 2 results, all of it within 5 min."),
    ],
)
def test_a_dry_run_says_what_would_be_made_and_measured_and_makes_nothing(
    tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    backends = ("--backends", "ort,tf") if words[0] == "bench" else ()
    where = {**NO_ENGINE, "LEVELFIELD_CACHE": str(tmp_path / "cache"), "COLUMNS": "600"}
    said = call(
        *words, "--dry-run", "--models", "mlp", "--launcher", "venv", *backends, folder=tmp_path, environment=where
    )
    assert said.code == 0, said.err
    assert says in said.out
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_refuses_a_program_outside_of_containers(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("import torch\n\n\ndef build():\n    return torch.nn.Linear(4, 2), ()\n")
    words = ("bench", "--model", "net.py:build", "--launcher", "venv", "--dry-run")
    where = {**NO_ENGINE, "LEVELFIELD_CACHE": str(tmp_path / "cache")}
    said = call(*words, folder=tmp_path, environment=where, code=2)
    assert "in containers alone" in said.err
    assert "Start a container engine, and leave --launcher out." in said.err


def test_what_is_said_of_several_arms_alike_is_said_once() -> None:
    chosen = plan.make(Selection(models=("mlp",), backends=("tf",)))
    warnings = tuple(notices.cuda_build(name) for name in ("torch@2.14.1-cuda", "torch@2.15.0-cuda"))
    out = io.StringIO()
    with pytest.raises(SystemExit):
        announce(
            msgspec.structs.replace(chosen, warnings=warnings), VenvLauncher(), Options(dry_run=True), Console(file=out)
        )
    assert out.getvalue().count("a build for CUDA") == 1


def in_terminal(folder: Path, *command: str, answer: bytes) -> tuple[int, str]:
    """Run a program in a terminal of its own that gives one answer."""
    ours, its = pty.openpty()
    environment = {**os.environ, **NO_ENGINE, "PYTHONPATH": IMPORTS, "LEVELFIELD_CACHE": str(folder / "cache")}
    with subprocess.Popen(
        [sys.executable, *command], stdin=its, stdout=its, stderr=its, cwd=folder, env=environment
    ) as process:
        os.close(its)
        os.write(ours, answer)
        said = b""
        try:
            while piece := os.read(ours, 4096):
                said += piece
        except OSError:  # it has ended
            pass
        os.close(ours)
    return process.returncode, " ".join(said.decode().split())


def test_large_images_are_asked_for_in_a_terminal(tmp_path: Path) -> None:
    code, said = in_terminal(tmp_path, "-m", "levelfield.cli", "bench", *TF, answer=b"n\n")
    assert "Make them? [Y/n]" in said
    assert "Nothing was made or measured." in said
    assert code == 2
    assert not (tmp_path / "cache" / "wheels").exists()
    assert not (tmp_path / "reports").exists()


def test_nobody_is_asked_who_said_yes_or_has_no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    chosen = plan.make(Selection(models=("mlp",), backends=("tf",)))
    assert estimate(chosen.images, "venv").disk_bytes > LARGE_BYTES
    said_without = io.StringIO()
    with process(BUSY), process(BUSY):
        announce(chosen, VenvLauncher(), Options(yes=False), Console(file=said_without))
    assert "Other processes: They use" in said_without.getvalue()
    begin = (
        "from rich.console import Console; from levelfield import plan; from levelfield.run import announce, options;"
        "from levelfield.launchers.host import VenvLauncher;"
        "chosen = plan.make(plan.Selection(models=('mlp',), backends=('tf',)));"
        "announce.announce(chosen, VenvLauncher(), options.Options(yes=True), Console()); print('begun')"
    )
    code, said = in_terminal(tmp_path, "-c", begin, answer=b"n\n")
    assert code == 0, said
    assert "Make them?" not in said
    assert said.endswith("begun")
