"""A file system of files that a test wrote, in place of the machine's own; and what findings say, by topic."""

from collections.abc import Iterable
from pathlib import Path

from levelfield.machine.findings import Finding

V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
"""`/proc/self/mountinfo` of a machine with control groups v2."""


def write(root: Path, files: dict[str, str]) -> Path:
    """Write files by their paths below `root`; return it."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def states(findings: Iterable[Finding]) -> dict[str, str]:
    """Return each finding's state, by topic."""
    return {finding.topic: finding.state for finding in findings}
