"""Reading what the kernel says in files: a value, or absent with the reason.

Every reader takes the root of the file system, so that a test can give it a folder of its own.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from levelfield.record.cpu_lists import cpu_list
from levelfield.record.schema import Absent, Fact

ROOT = Path("/")
Facts = dict[str, Fact]
_T = TypeVar("_T")


def if_known(function: Callable[..., _T], *values: object) -> _T | Absent:
    """Return what a function makes of values, or the first of them that is absent."""
    for value in values:
        if isinstance(value, Absent):
            return value
    return function(*values)


def text(path: Path) -> str | Absent:
    """Return a small file's content without surrounding white space.

    Returns absent when it is not there, may not be read, or is empty; the reason names the file.
    """
    try:
        content = path.read_text(encoding="utf-8", errors="replace").strip("\0 \t\r\n")
    except FileNotFoundError:
        return Absent(f"{_shown(path)} is not there")
    except PermissionError:
        return Absent(f"{_shown(path)} may not be read by this user")
    except OSError as error:
        return Absent(f"{_shown(path)} cannot be read: {error.strerror or error}")
    return content or Absent(f"{_shown(path)} is empty")


def integer(path: Path) -> int | Absent:
    content = text(path)
    if isinstance(content, Absent):
        return content
    try:
        return int(content, 0)
    except ValueError:
        return Absent(f"{_shown(path)} says {content[:40]!r}, which is not a whole number")


def chosen(path: Path) -> str | Absent:
    """Return the word in brackets: `always [madvise] never` gives `madvise`."""
    return if_known(lambda content: re.sub(r".*\[([^\]]*)\].*", r"\1", content, flags=re.DOTALL), text(path))


def table(path: Path) -> dict[str, str]:
    """Return the `name: value` or `name=value` lines of a file; empty when it cannot be read. First mention wins."""
    content = text(path)
    if isinstance(content, Absent):
        return {}
    found: dict[str, str] = {}
    for line in content.splitlines():
        name, separator, value = line.partition(":" if ":" in line.split("=", 1)[0] else "=")
        if separator:
            found.setdefault(name.strip(), value.strip().strip('"'))
    return found


def entry(values: dict[str, str], name: str, where: str) -> Fact:
    """Return one entry of a table, as an integer where it is one; absent where there is none."""
    value = values.get(name, "")
    if not value:
        return Absent(f"{where} does not say")
    return int(value) if value.isdecimal() else value


def kibibytes(info: dict[str, str], name: str) -> int | Absent:
    """Return an entry of `/proc/meminfo` (`24684096 kB`) in bytes."""
    found = re.fullmatch(r"(\d+) kB", info.get(name, ""))
    return int(found[1]) * 1024 if found else Absent(f"/proc/meminfo does not say {name}")


def online(root: Path = ROOT) -> tuple[int, ...]:
    """Return the CPUs that are switched on; empty when the kernel does not say."""
    content = text(root / "sys/devices/system/cpu/online")
    return () if isinstance(content, Absent) else cpu_list(content)


def _shown(path: Path) -> str:
    """Return the path from `proc`, `sys` or `etc` on: the same words on every machine, whatever the root."""
    parts = path.parts
    starts = [index for index, part in enumerate(parts) if part in {"proc", "sys", "etc"}]
    return "/" + "/".join(parts[starts[0] :]) if starts else path.name
