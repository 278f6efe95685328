"""Links of pages to files elsewhere in the repository: these join the site, and links lead to them there."""

import posixpath
import re
from collections.abc import Callable
from pathlib import Path

_LINK = re.compile(r"\]\((?!https?:|mailto:|#)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
PROJECT = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/reporting.md",
    "LICENSE": "project/LICENSE.txt",
}
"""Files of the repository's top level, and where in the site they are."""


def place(root: Path, file: Path) -> str:
    """Return where in the site a file of the repository is.

    Parameters
    ----------
    root : Path
        The repository.
    file : Path
        One of its files; those of `docs/` are at the site's root.
    """
    inside = file.relative_to(root)
    if inside.parts[0] == "docs":
        return Path(*inside.parts[1:]).as_posix()
    return PROJECT.get(inside.as_posix(), inside.as_posix())


def linked(origin: Path, text: str) -> set[Path]:
    """Return the files that a page links to, and that are there.

    Parameters
    ----------
    origin : Path
        The page's file.
    text : str
        Its Markdown.
    """
    targets = {_target(origin, found) for found in _LINK.finditer(text)}
    return {target for target in targets if target.is_file()}


def _target(origin: Path, found: re.Match[str]) -> Path:
    """Return the file that a link leads to; of a folder, its README."""
    target = (origin.parent / found["path"]).resolve()
    return target / "README.md" if target.is_dir() else target


def relinked(root: Path, origin: Path, text: str) -> str:
    """Return a page whose links lead to where their targets are in the site.

    Parameters
    ----------
    root : Path
        The repository.
    origin : Path
        The page's file in it.
    text : str
        Its Markdown.
    """
    return _LINK.sub(_replacing(root, origin), text)


def _replacing(root: Path, origin: Path) -> Callable[[re.Match[str]], str]:
    here = posixpath.dirname(place(root, origin))

    def replaced(found: re.Match[str]) -> str:
        target = _target(origin, found)
        if not target.is_file() or not target.is_relative_to(root):
            return found[0]  # a broken link stays one, and the build names it
        return f"]({posixpath.relpath(place(root, target), here or '.')}{found['anchor'] or ''})"

    return replaced
