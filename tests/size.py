"""Count the lines of every package: `python -m tests.size`. Docstrings, comments and blank lines are no code."""

import ast
import io
import sys
import tokenize
from pathlib import Path
from typing import NamedTuple

from tests.commands import ROOT

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


class Size(NamedTuple):
    """Lines of one file or of several."""

    files: int
    code: int
    docstrings: int
    total: int

    def __add__(self, other: "Size") -> "Size":  # type: ignore[override]
        return Size(*(one + another for one, another in zip(self, other, strict=True)))


def of_source(text: str) -> Size:
    """Return the size of one file's text; a string that stands alone counts as a docstring."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return Size(1, len(code - docstrings), len(docstrings), len(text.splitlines()))


def of_packages(root: Path) -> dict[str, Size]:
    """Return the size of each package and loose module under `root`, the largest first."""
    found: dict[str, Size] = {}
    for path in root.rglob("*.py"):
        name = path.relative_to(root).parts[0]
        found[name] = found.get(name, Size(0, 0, 0, 0)) + of_source(path.read_text(encoding="utf-8"))
    return dict(sorted(found.items(), key=lambda item: -item[1].code))


def main() -> None:
    root = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "suite" / "levelfield"
    sizes = of_packages(root)
    print(f"{'package':16s} {'files':>6s} {'code':>7s} {'docstrings':>11s} {'all lines':>10s}")
    for name, size in [*sizes.items(), ("together", sum(sizes.values(), Size(0, 0, 0, 0)))]:
        print(f"{name:16s} {size.files:6d} {size.code:7d} {size.docstrings:11d} {size.total:10d}")


if __name__ == "__main__":
    main()
