"""An upgrade of the kernel from begin to verdict: real runs, in boots that a mount namespace makes.

Files are mounted over those in which the kernel says its release and which boot this is: all of Levelfield then sees
another boot, or another kernel.
"""

import os
from pathlib import Path

import pytest

from levelfield.record import files
from levelfield.run.upgrade import store
from levelfield.run.upgrade.progress import Phase
from tests.commands import Command

pytestmark = [pytest.mark.docker, pytest.mark.skipif(os.getuid() != 0, reason="Mounting needs root.")]

PLAN = ("--profile", "smoke", "--models", "mlp", "--scenarios", "latency")
_MOUNT = """
mount --bind boot_id /proc/sys/kernel/random/boot_id && mount --bind release /proc/sys/kernel/osrelease && exec "$@"
"""


def in_boot(folder: Path, number: int, release: str, *words: str) -> Command:
    (folder / "boot_id").write_text(f"{number:08}-0000-4000-8000-000000000000\n")
    (folder / "release").write_text(f"{release}\n")
    within = ("unshare", "--mount", "sh", "-c", _MOUNT, "sh")
    return Command("upgrade", *words, folder=folder, within=within).wait()


def test_a_kernel_is_upgraded_and_taken_back(tmp_path: Path) -> None:
    begun = in_boot(tmp_path, 1, "6.1.0", "begin", "kernel", *PLAN, "--backends", "onnxruntime", "--boots", "1")
    assert begun.code == 0, begun.err
    last = []
    for number, release in ((1, "6.1.0"), (2, "6.12.0"), (2, "6.12.0"), (3, "6.1.0")):
        command = in_boot(tmp_path, number, release, "next")
        assert command.code == 0, command.err
        last.append(command.out.splitlines()[-1])
    assert last[0].startswith("Next: install the new driver, kernel")
    assert last[1] == last[2] == "Next: go back to the old stack, then reboot: 1 boot there."
    assert last[3] == "Done: levelfield upgrade verdict kernel"
    found = store.load("kernel", tmp_path / "reports")
    assert [boot.phase for boot in found.boots] == list(Phase)
    machines = [files.read(tmp_path / "reports" / boot.begun.run).machine for boot in found.boots]
    assert [machine["kernel"]["release"] for machine in machines] == ["6.1.0", "6.12.0", "6.1.0"]
    verdict = in_boot(tmp_path, 3, "6.1.0", "verdict", "kernel")
    assert verdict.code == 3, "smoke runs are not judged"
    assert verdict.out.index("6.12.0") < verdict.out.index("Case by case")
