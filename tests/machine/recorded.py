"""Recorded topologies of real machines, written out as the kernel shows them: see `topologies/README.md`."""

from pathlib import Path

from levelfield.record.cpu_lists import as_text, cpu_list
from tests.machine.folders import write

FOLDER = Path(__file__).parent / "topologies"
LISTS = {"thread_siblings": "thread_siblings_list", "cpumap": "cpulist"}
"""Files that hold a set as a mask, and those in which the kernel shows the same set as a list: recordings have one."""


def machine(name: str, root: Path) -> Path:
    """Write the recording `name` below `root`; return it."""
    files: dict[str, str] = {}
    numbers: tuple[int, ...] = ()
    for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        path, _, content = line.partition(" ")
        if path == "cpus":
            numbers = cpu_list(content)
        elif "*" in path:
            found = zip(numbers, content.split(), strict=True)
            files |= {path.replace("*", str(number)): value for number, value in found if value != "-"}
        elif path and not line.startswith("#"):
            files[path] = files[path] + f"\n{content}" if path in files else content
    for path, content in list(files.items()):
        folder, _, last = path.rpartition("/")
        if last in LISTS:
            files.setdefault(f"{folder}/{LISTS[last]}", as_text(of_mask(content)))
    return write(root, {path: f"{content}\n" for path, content in files.items()})


def of_mask(mask: str) -> tuple[int, ...]:
    """Read a mask of CPUs: `00000001,00000003` gives (0, 1, 32)."""
    value = int(mask.replace(",", ""), 16)
    return tuple(number for number in range(value.bit_length()) if value >> number & 1)
