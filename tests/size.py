"""Print how large the tree is, part by part, beside its budget; exit 1 where a budget is exceeded.

A line of code is a line that holds a token other than a comment or a docstring. Words are counted in Markdown.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

BUDGET = {  # part: (most lines of code, most files)
    "suite": (47_118, 400),
    "plugins": (11_000, 140),
    "studies": (7_000, 80),
    "tests": (32_144, 420),
}
"""Of suite, tests and words what there is; 40,500 lines in 400 files, 30,000 lines and 28,000 words are wanted."""
DOCSTRING_LINES = 12_139
TEMPLATE_LINES = 4_000
DOC_WORDS = 28_000
REPORTS_MB = 30
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def measure(path: Path) -> tuple[int, int]:
    """Return the lines of code and of docstrings of one file."""
    text = path.read_text(encoding="utf-8")
    strings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            strings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - strings), len(strings)


def tracked(*patterns: str) -> list[Path]:
    """Return the files that git tracks under the patterns."""
    command = ("git", "ls-files", "-z", *patterns)
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [Path(name) for name in listed.split("\0") if name and Path(name).is_file()]


def main() -> int:
    rows: list[tuple[str, float, float, str]] = []
    docstrings = 0
    for part, (most_lines, most_files) in BUDGET.items():
        sizes = [measure(path) for path in tracked(part) if path.suffix == ".py"]
        rows += [(part, sum(code for code, _ in sizes), most_lines, "lines"), (part, len(sizes), most_files, "files")]
        docstrings += sum(strings for _, strings in sizes) if part in {"suite", "plugins"} else 0
    face = [path for path in tracked("suite", "plugins") if path.suffix in {".j2", ".js", ".css", ".html"}]
    pages = tracked("docs/*.md", "README.md")
    rows += [
        ("docstrings of suite and plugins", docstrings, DOCSTRING_LINES, "lines"),
        (
            "templates",
            sum(len(path.read_text(encoding="utf-8").splitlines()) for path in face),
            TEMPLATE_LINES,
            "lines",
        ),
        ("docs", sum(len(re.findall(r"\S+", path.read_text(encoding="utf-8"))) for path in pages), DOC_WORDS, "words"),
        ("reports", sum(path.stat().st_size for path in tracked("reports")) / 1e6, REPORTS_MB, "MB"),
    ]
    for name, size, most, unit in rows:
        print(f"{name:32}{size:9,.0f} of {most:,} {unit}" + ("  <- too much" if size > most else ""))
    return int(any(size > most for _, size, most, _ in rows))


if __name__ == "__main__":
    sys.exit(main())
