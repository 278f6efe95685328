"""Public functions and methods with two or more arguments describe each of them in a numpydoc `Parameters` section.

Exempt are:

- names that begin with an underscore, and everything in a class whose name does: they are not public;
- functions nested in functions: nobody else can call them;
- properties: they have no arguments, and their setters have one;
- commands of click: the help of their options describes these, and their docstring is printed by `--help`;
- `__init__` and other special methods: the class's docstring describes the arguments;
- methods that implement a protocol, with the same arguments as the protocol's method: it is documented there;
- overloads: the implementation is documented.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

SUITE = Path(__file__).parent.parent / "suite"
PACKAGES = sorted(path.name for path in SUITE.iterdir() if (path / "__init__.py").is_file())
LEAST_ARGUMENTS = 2

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Found(NamedTuple):
    """One public function or method."""

    place: str
    name: str
    arguments: tuple[str, ...]
    docstring: str


def decorators(function: Function) -> set[str]:
    names = (each.func if isinstance(each, ast.Call) else each for each in function.decorator_list)
    return {ast.unparse(each).rpartition(".")[2] for each in names}


def arguments(function: Function, *, method: bool) -> tuple[str, ...]:
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    if method and "staticmethod" not in decorators(function):
        positional = positional[1:]
    stars = [each for each in (given.vararg, given.kwarg) if each is not None]
    return tuple(each.arg for each in (*positional, *given.kwonlyargs, *stars))


def functions(tree: ast.Module, place: str) -> Iterator[Found]:
    for node in tree.body:
        if isinstance(node, Function):
            yield from _checked(node, place, "")
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for inner in node.body:
                if isinstance(inner, Function):
                    yield from _checked(inner, place, f"{node.name}.")


def _checked(function: Function, place: str, prefix: str) -> Iterator[Found]:
    if function.name.startswith("_") or decorators(function) & {"property", "setter", "overload", "command", "group"}:
        return
    names = arguments(function, method=bool(prefix))
    if len(names) >= LEAST_ARGUMENTS:
        yield Found(place, prefix + function.name, names, ast.get_docstring(function) or "")


def documented(docstring: str) -> set[str]:
    """Names of the arguments in the section `Parameters`."""
    section = re.search(r"^Parameters\n-{3,}\n(.*?)(?=^\w[\w ]*\n-{3,}$|\Z)", docstring, re.MULTILINE | re.DOTALL)
    if section is None:
        return set()
    heads = [line.partition(" : ")[0] for line in section[1].splitlines() if line[:1].strip()]
    return {name.strip().lstrip("*\\") for head in heads for name in head.split(",")}


@functools.cache
def protocols() -> set[tuple[str, tuple[str, ...]]]:
    """Name and arguments of each documented method of a protocol, anywhere in the package."""
    found = set()
    for file in SUITE.rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases):
                for inner in node.body:
                    if isinstance(inner, Function):
                        names = arguments(inner, method=True)
                        if documented(ast.get_docstring(inner) or "") >= set(names):
                            found.add((inner.name, names))
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_every_argument_of_a_public_function_is_described(package: str) -> None:
    implemented = protocols()
    missing = [
        f"{found.place}: {found.name} ({', '.join(lacking)})"
        for file in sorted((SUITE / package).rglob("*.py"))
        for found in functions(ast.parse(file.read_text(encoding="utf-8")), str(file.relative_to(SUITE)))
        if (lacking := [name for name in found.arguments if name not in documented(found.docstring)])
        and not ("." in found.name and (found.name.rpartition(".")[2], found.arguments) in implemented)
    ]
    assert not missing


def test_a_section_is_read_to_its_end() -> None:
    text = "Summary.\n\nParameters\n----------\na, b : int\n    Two: c.\n*rest\n    d : e.\n\nReturns\n-------\nf : int"
    assert documented(text) == {"a", "b", "rest"}


def test_methods_do_not_count_self_and_private_classes_and_commands_are_left_out() -> None:
    tree = ast.parse(
        "@click.command()\ndef d(a, b): 0\nclass A:\n def one(self, a, *, b): ...\nclass _B:\n def two(self, a, b): ..."
    )
    assert [(found.name, found.arguments) for found in functions(tree, "")] == [("A.one", ("a", "b"))]
