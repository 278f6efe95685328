"""A program of its own: what the Python on its standard input defines and imports, as JSON; nothing of it is run.

Python's parser takes the square of time for some files (a name of many parts in an import, an f-string of many), so
it is run in a process that can be ended. See `python_file`.

Usage: outline.py SECONDS
"""

import ast
import json
import resource
import signal
import sys
import warnings
from collections.abc import Iterator

MOST_BYTES = 1 << 30
"""Memory."""


def outline(content: bytes) -> dict[str, object]:
    """Return the names of functions, of those without arguments, and of imports; or the line that is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # its author's, and not this command's
            tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return {"damaged": True, "line": (isinstance(error, SyntaxError) and error.lineno) or 0}
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef)]
    return {
        "functions": [each.name for each in functions],
        "builders": [each.name for each in functions if not each.name.startswith("_") and not _required(each.args)],
        "imported": sorted({name.partition(".")[0] for name in _imports(tree)}),
    }


def _required(arguments: ast.arguments) -> int:
    """Return the number of arguments without a default."""
    every = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return every + arguments.kw_defaults.count(None)


def _imports(tree: ast.Module) -> Iterator[str]:
    for each in ast.walk(tree):
        if isinstance(each, ast.Import):
            yield from (alias.name for alias in each.names)
        elif isinstance(each, ast.ImportFrom) and each.module is not None and not each.level:
            yield each.module


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.setitimer(signal.ITIMER_PROF, float(sys.argv[1]))  # ends it
    json.dump(outline(sys.stdin.buffer.read()), sys.stdout)
