"""Twice the input costs a reader no more than three times as much: in time, and in memory beyond what it is given."""

import itertools
import os
import shutil
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from levelfield.backends import protobuf
from levelfield.prepare.own_weights import folder
from levelfield.record.schema import Arm
from tests.attacks import fuzzing, readers
from tests.prepare.own_weights import saved
from tests.records_builder import make_run

LONGEST = 1 << 20
"""Bytes at which growing ends: what a reader takes in less than `ENOUGH_S` then is fast enough."""
ENOUGH_S = 0.3
MOST = 3.0
LIMIT_S = 30.0
"""Processor time after which a case is given up, whatever it grew from."""
PLACES = 3
"""Lists of a document that grow, each in its turn."""
LEAVES = 40
"""Parts of an entry that are made unique, one after the other."""
Shape = Callable[[int], bytes]
Path_ = tuple[Any, ...]

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
    "escaped quotes": lambda n: b'x="' + b'\\"' * n,
    "apostrophes": lambda n: b"x=\"'" + b"'" * n,
    "digits": lambda n: b'{"schema":' + b"9" * n + b"}",
    "tags": lambda n: b"<!doctype html>" + b"<script>" * n,
    "blocks": lambda n: b'<!doctype html><script type="application/json" id="record">' + b"{" * n + b"</script>",
    "comments": lambda n: b"# x\n" * n,
    "parentheses": lambda n: b"import torch\nx = " + b"(" * min(n, 90) + b"1" + b"+1" * n + b")" * min(n, 90),
    "attributes": lambda n: b"import torch\nx = torch" + b".a" * n,
    "an import of many parts": lambda n: b"import torch\nimport a" + b".a" * n + b"\ndef build(): ...",
    "an f-string of many parts": lambda n: b"import torch\nx = f'" + b"{1}" * n + b"'\ndef build(): ...",
}


def _record() -> Any:
    """Return a small record with times of one case, in five launches."""
    run = make_run(models=("mlp",), backends=("torch",), scenarios=("latency",), generations=5, rounds=1, max_calls=3)
    return msgspec.to_builtins(run)


def arms_of_a_case(n: int) -> bytes:
    """Each has times of its own, so that it is compared with every other."""
    made = _record()
    (block,) = made["blocks"]
    block["arms"] = [{**block["arms"][0], "settings": {"number": str(number)}} for number in range(n)]
    names = [msgspec.convert(arm, Arm).id for arm in block["arms"]]
    for generation in block["generations"]:
        launch = {key: value for key, value in generation["launches"][0].items() if key in {"started", "parity"}}
        launch["parity"] = {**launch["parity"], "projection": ()}
        generation["launches"] = [{**launch, "arm": name} for name in names]
        window = generation["rounds"][0]["turns"][0]["window"]
        generation["rounds"][0]["turns"] = [
            {"arm": name, "window": {**window, "samples_ns": [10**6 + 10**4 * number + generation["index"]]}}
            for number, name in enumerate(names)
        ]
    return msgspec.json.encode(made)


def sizes_of_a_file(n: int) -> bytes:
    made = _record()
    sizes = {f"d{number}": number + 1 for number in range(n)}
    also = [{"model": f"m{number}", "inputs": [], "dimensions": {f"d{number}": 7}} for number in range(n)]
    made["settings"]["own"] = {
        "model": "mlp", "file": "x.onnx", "sha256": "0" * 64, "size_bytes": 1, "inputs": [], "outputs": ["y"],
        "precision": "fp32", "opset": 20, "dimensions": sizes, "also": also,
    }  # fmt: skip
    return msgspec.json.encode(made)


def journal(line: Callable[[int], Any], *, begin: Any = None, most_blocks: int = 1) -> Shape:
    """A journal of many lines of one kind, behind `begin`."""

    def make(n: int) -> bytes:
        made = _record() | {"finished": None}
        (block,) = made["blocks"]
        block = {**block, "arms": [], "generations": []}
        made["blocks"] = [
            {**block, "case": {**block["case"], "threads": 1 + number}} for number in range(min(n, most_blocks))
        ]
        first = [{"type": "started", "run": made}, *([begin] if begin else [])]
        return b"".join(msgspec.json.encode(each) + b"\n" for each in (*first, *map(line, range(n))))

    return make


def onnx(node: Shape = lambda _: b"", weight: Shape = lambda _: b"", inputs: Shape = lambda _: b"") -> Shape:
    """An ONNX file with a graph of these parts."""

    def make(n: int) -> bytes:
        graph = node(n) + protobuf.text(5, weight(n)) + inputs(n) + protobuf.text(12, _value(b"y"))
        return protobuf.number(1, 8) + protobuf.text(7, graph) + protobuf.text(8, protobuf.number(2, 17))

    return make


def _value(name: bytes, *sides: bytes) -> bytes:
    shape = b"".join(protobuf.text(1, protobuf.text(2, side)) for side in sides)
    tensor = protobuf.number(1, 7) + protobuf.text(2, shape)
    return protobuf.text(1, name) + protobuf.text(2, protobuf.text(1, tensor))


def _node(operator: bytes, inputs: Sequence[bytes], outputs: Sequence[bytes], more: bytes = b"") -> bytes:
    names = [protobuf.text(1, each) for each in inputs] + [protobuf.text(2, each) for each in outputs]
    return protobuf.text(1, b"".join(names) + protobuf.text(4, operator) + more)


def _names(n: int) -> list[bytes]:
    return [b"%d" % number for number in range(n)]


_PROBE = {"type": "machine-probe", "arithmetic_ns": 10**6, "memory_ns": 10**6, "pages_ns": 10**6}
_LEVELS = {
    **{key: value for key, value in _PROBE.items() if key != "type"},
    "probes": 9, "low_share": 0.9, "high_share": 0.1, "kept": False,
}  # fmt: skip
_CASE = "mlp/latency/fp32/b1/t1/cpu"
GROWN: dict[str, dict[str, Shape]] = {
    "record": {"arms of a case": arms_of_a_case, "sizes of a file": sizes_of_a_file},
    "journal": {
        "phases": journal(lambda number: {"type": "time-spent", "seconds": {str(number): 1}}),
        "warnings": journal(lambda number: {"type": "warning", "warning": {"code": str(number), "message": ""}}),
        "lost lines": journal(lambda _: "x", most_blocks=2_000),
        "levels": journal(
            lambda _: {"type": "levels", "block": _CASE, "generation": 0, "levels": _LEVELS, "looked": [_PROBE] * 8},
            begin={"type": "generation", "block": _CASE, "index": 0, "seed": 0},
        ),
    },
    "own-file": {
        "numbers of an attribute": onnx(
            node=lambda n: _node(b"Relu", [b"x"], [b"y"], protobuf.text(5, protobuf.number(3, 0) * n))
        ),
        "dimensions of a weight": onnx(weight=lambda n: protobuf.number(1, 1 << 62) * n + protobuf.text(8, b"w")),
        "packed dimensions of a weight": onnx(weight=lambda n: protobuf.text(1, protobuf.varint(1 << 62) * n)),
        "outputs that divide": onnx(
            node=lambda n: (
                _node(b"Concat", _names(n), _names(n))
                + b"".join(_node(b"Div", [b"x", each], [b"y"]) for each in _names(n))
            ),
            inputs=lambda _: protobuf.text(11, _value(b"x", b"batch")),
        ),
        "sizes that are missing": onnx(
            inputs=lambda n: b"".join(
                protobuf.text(11, _value(each, *(b"2*d%s + a%d" % (each, side) for side in range(60))))
                for each in _names(min(n, 1_000))
            )
        ),
        "nodes": onnx(
            node=lambda n: b"".join(
                _node(b"O%s" % each, [each], [each], protobuf.text(7, b"x.y")) for each in _names(n)
            ),
            inputs=lambda _: protobuf.text(11, _value(b"x", b"batch")),
        ),
    },
}


def shapes(name: str, cache: Path) -> Iterator[tuple[str, Shape]]:
    """Yield ways in which what a reader is given can grow."""
    yield from TEXTS.items()
    yield from GROWN.get(name, {}).items()
    seed = max(readers.seeds(name), key=len)
    yield "repeated", lambda n: seed * n
    yield "an end repeated", lambda n: seed + seed[-40:] * n
    try:
        document = msgspec.json.decode(seed)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return
    paths = sorted(_held(document), key=lambda path: len(msgspec.json.encode(_at(document, path))), reverse=True)
    for path in paths[:: max(1, len(paths) // PLACES)][:PLACES]:
        kept = _distinguishable(name, document, path, cache)
        yield f"more of {'.'.join(map(str, path))}", lambda n, path=path, kept=kept: _longer(document, path, n, kept)  # type: ignore[misc]


def _held(document: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yield where lists and dictionaries are."""
    for key, held in document.items() if isinstance(document, dict) else enumerate(document):
        if isinstance(held, dict | list) and held:
            yield (*path, key)
            yield from _held(held, (*path, key))


def _at(document: Any, path: Path_) -> Any:
    for step in path:
        document = document[step]
    return document


def _longer(document: Any, path: Path_, times: int, distinct: Sequence[Path_]) -> bytes:
    """Repeat what a place holds, `distinct` parts of it made unique each time."""
    copy = msgspec.json.decode(msgspec.json.encode(document))
    held = _at(document, path)
    entries = list(held.items()) if isinstance(held, dict) else [[None, each] for each in held]
    grown = [_other(each, number, distinct) for number in range(times) for each in entries]
    _at(copy, path[:-1])[path[-1]] = dict(grown) if isinstance(held, dict) else [each for _, each in grown]
    return msgspec.json.encode(copy)


def _other(entry: Any, number: int, distinct: Sequence[Path_]) -> Any:
    if not number:
        return entry
    copy = msgspec.json.decode(msgspec.json.encode(entry))
    for path in distinct:
        try:
            value = _at(copy, path)
        except (LookupError, TypeError):  # of another entry
            continue
        if isinstance(value, str):
            _at(copy, path[:-1])[path[-1]] = f"{value}{number}"
        elif type(value) in (int, float):
            _at(copy, path[:-1])[path[-1]] = value + number
    return copy


def _distinguishable(name: str, document: Any, path: Path_, cache: Path) -> list[Path_]:
    """Return what may differ in the entries of a place, each beside those before, so that a reader takes them all."""
    kept: list[Path_] = []
    held = _at(document, path)
    first = next(iter(held.items())) if isinstance(held, dict) else (None, held[0])
    for leaf in list(_leaves(list(first)))[:LEAVES]:
        if _takes(name, _longer(document, path, 2, [*kept, leaf]), cache):
            kept.append(leaf)
    return kept


def _leaves(document: Any, path: Path_ = ()) -> Iterator[Path_]:
    for key, held in document.items() if isinstance(document, dict) else enumerate(document):
        if isinstance(held, dict | list):
            yield from _leaves(held, (*path, key))
        else:
            yield (*path, key)


def _takes(name: str, content: bytes, cache: Path) -> bool:
    folder = Path(tempfile.mkdtemp(dir=cache))
    try:
        readers.READERS[name].read(content, folder)
    except readers.REFUSALS:
        return False
    finally:
        shutil.rmtree(folder)
    return True


def cost(name: str, content: bytes, cache: Path) -> float:
    """Return the processor time that a reader takes, in seconds."""
    before = os.times()
    failure = fuzzing.attempt(name, content, cache, seconds=LIMIT_S)
    after = os.times()
    assert not failure, failure
    return sum(after[:4]) - sum(before[:4])  # children, too


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    readers.numpy_is_ready()
    return tmp_path


def check(name: str, what: str, shape: Shape, cache: Path, *, until_s: float = ENOUGH_S) -> None:
    """Grow what a reader is given until it takes so long; from `ENOUGH_S` on, it is timed beside twice as much."""
    for times in itertools.accumulate(itertools.repeat(2), int.__mul__):
        content = shape(times)
        if len(content) > LONGEST or times > LONGEST:
            break
        if (once := cost(name, content, cache)) < ENOUGH_S:
            continue
        twice = cost(name, shape(2 * times), cache)
        for _ in range(2):  # in turns: a neighbour may slow down either, and all of it for longer than one takes
            if twice <= MOST * once:
                break
            once = min(once, cost(name, content, cache))
            twice = min(twice, cost(name, shape(2 * times), cache))
        assert twice <= MOST * once, f"{what}, {len(content):,} bytes: {once:.2f} s, and twice that {twice:.2f} s"
        if once >= until_s:
            break


@pytest.mark.extended
@pytest.mark.parametrize("name", readers.READERS)
def test_no_reader_takes_the_square(cache: Path, name: str) -> None:
    for what, shape in shapes(name, cache):
        check(name, what, shape, cache, until_s=1.0)


@pytest.mark.parametrize(("name", "what"), [(name, what) for name, grown in GROWN.items() for what in grown])
def test_many_parts_that_differ_do_not_take_the_square(cache: Path, name: str, what: str) -> None:
    check(name, what, GROWN[name][what], cache, until_s=2.0 if name == "record" else ENOUGH_S)


def test_the_same_weights_in_many_files_do_not_take_the_square(tmp_path: Path) -> None:
    tensors = dict.fromkeys(map(str, range(150_000)), np.zeros(0, np.float32))

    def cost_of(files: int) -> float:
        path = saved.folder(tmp_path / str(files), {}, tensors, shards=files)
        before = time.process_time()
        assert len(folder.read(path).tensors) == len(tensors)
        return time.process_time() - before

    assert cost_of(folder.MOST_SHARDS) <= MOST * cost_of(folder.MOST_SHARDS // 10)


@pytest.mark.parametrize(
    ("name", "what"),
    [("defaults", "escaped quotes"), ("python", "an import of many parts"), ("python", "an f-string of many parts")],
)
def test_a_text_that_once_took_the_square_does_not(cache: Path, name: str, what: str) -> None:
    check(name, what, TEXTS[what], cache)


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
