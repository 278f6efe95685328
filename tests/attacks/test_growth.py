"""Twice the input costs a reader no more than three times as much: in time, and in memory beyond what it is given."""

import itertools
import os
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.attacks import fuzzing, readers

LONGEST = 1 << 20
"""Bytes at which growing ends: what a reader takes in less than `ENOUGH_S` then is fast enough."""
ENOUGH_S = 0.3
MOST = 3.0
PLACES = 3
"""Lists of a document that grow, each in its turn."""
Shape = Callable[[int], bytes]

TEXTS: dict[str, Shape] = {
    "dotted keys": lambda n: b"a" + b".a" * n + b"=1",
    "quoted dotted keys": lambda n: b'a."="' + b'."a"' * n + b"=1",
    "dotted keys in a table": lambda n: b'x = {b = "\\"", a' + b".a" * n + b"=1}",
    "tables": lambda n: b"".join(b"[a.b.c%d]\n" % each for each in range(n)),
    "tables within": lambda n: b"[" + b"a." * n + b"a]",
    "brackets": lambda n: b"[" * n,
    "braces": lambda n: b'{"a":' * n,
    "a list of lists": lambda n: b"x=[" + b"[]," * n + b"]",
    "spaces": lambda n: b" " * n + b"x",
    "lines": lambda n: b"x\n" * n,
    "quotes": lambda n: b'"' * n,
    "backslashes": lambda n: b'x="' + b"\\" * n,
    "digits": lambda n: b'{"schema":' + b"9" * n + b"}",
    "tags": lambda n: b"<!doctype html>" + b"<script>" * n,
    "blocks": lambda n: b'<!doctype html><script type="application/json" id="record">' + b"{" * n + b"</script>",
    "comments": lambda n: b"# x\n" * n,
    "parentheses": lambda n: b"import torch\nx = " + b"(" * min(n, 90) + b"1" + b"+1" * n + b")" * min(n, 90),
    "attributes": lambda n: b"import torch\nx = torch" + b".a" * n,
}


def shapes(name: str) -> Iterator[tuple[str, Shape]]:
    """Yield ways in which what a reader is given can grow."""
    yield from TEXTS.items()
    seed = max(readers.seeds(name), key=len)
    yield "repeated", lambda n: seed * n
    yield "an end repeated", lambda n: seed + seed[-40:] * n
    try:
        document = msgspec.json.decode(seed)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return
    paths = sorted(_lists(document), key=lambda path: len(msgspec.json.encode(_at(document, path))), reverse=True)
    for path in paths[:: max(1, len(paths) // PLACES)][:PLACES]:
        yield f"more of {'.'.join(map(str, path))}", lambda n, path=path: _longer(document, path, n)  # type: ignore[misc]


def _lists(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries = document.items() if isinstance(document, dict) else enumerate(document)
    for key, held in entries:
        if isinstance(held, dict | list) and held:
            if isinstance(held, list):
                yield (*path, key)
            yield from _lists(held, (*path, key))


def _at(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


def _longer(document: Any, path: tuple[Any, ...], times: int) -> bytes:
    copy = msgspec.json.decode(msgspec.json.encode(document))
    _at(copy, path[:-1])[path[-1]] = _at(document, path) * times
    return msgspec.json.encode(copy)


def cost(name: str, content: bytes, cache: Path, *, best_of: int) -> float:
    """Return the processor time that a reader takes, in seconds."""
    taken = []
    for _ in range(best_of):
        before = os.times()
        failure = fuzzing.attempt(name, content, cache)
        after = os.times()
        taken.append(sum(after[:2]) - sum(before[:2]))
        assert not failure, failure
    return min(taken)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    readers.numpy_is_ready()
    return tmp_path


@pytest.mark.extended
@pytest.mark.parametrize("name", readers.READERS)
def test_no_reader_takes_the_square(cache: Path, name: str) -> None:
    for what, shape in shapes(name):
        for times in itertools.accumulate(itertools.repeat(2), int.__mul__):
            content = shape(times)
            if len(content) > LONGEST:
                break
            if (once := cost(name, content, cache, best_of=1)) < ENOUGH_S:
                continue
            twice = cost(name, shape(2 * times), cache, best_of=2)
            assert twice <= MOST * once, f"{what}, {len(content):,} bytes: {once:.2f} s, and twice that {twice:.2f} s"
            break


@pytest.mark.parametrize("what", TEXTS)
def test_a_file_of_toml_takes_no_more_memory_than_a_few_times_its_length(cache: Path, what: str) -> None:
    content = TEXTS[what](1 << 13)
    (cache / "folder").mkdir()
    tracemalloc.start()
    try:
        for name in ("gate", "defaults"):
            fuzzing.attempt(name, content, cache)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()
