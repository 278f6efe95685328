"""Files that are no records, or records of runs that cannot be: each is one sentence, never a traceback.

`corpus/` holds the small ones as files, so that what once broke a reader stays there; `make` writes them anew.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from levelfield.record.schema import SCHEMA, Run
from tests.records_builder import make_run

FOLDER = Path(__file__).parent / "corpus"


def small() -> Run:
    """A record of a few kilobytes."""
    return make_run(models=["mlp"], backends=["jax"], scenarios=["latency"], generations=1, rounds=1, max_calls=3)


def make() -> Iterator[tuple[str, bytes]]:
    """Name every file of the corpus, with its content."""
    run = small()
    whole = msgspec.json.encode(run)
    plain: dict[str, Any] = msgspec.to_builtins(run)

    def changed(**fields: Any) -> bytes:
        return msgspec.json.encode(plain | fields)

    def spoiled(old: bytes, new: bytes) -> bytes:
        assert old in whole, old
        return whole.replace(old, new)

    yield "empty.json", b""
    yield "truncated.json", whole[: len(whole) * 2 // 3]
    yield "cut-in-a-string.json", whole[: whole.index(b"Debian") + 3]
    yield "twice.json", whole + whole
    yield "not-json.json", b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94."
    yield "not-utf-8.json", spoiled(b"Debian", b"D\xff\xfe")
    yield "not-an-object.json", b'["schema", 1]'
    yield "no-schema.json", msgspec.json.encode({name: value for name, value in plain.items() if name != "schema"})
    yield "newer-schema.json", changed(schema=SCHEMA + 1, blocks={"of": "another shape"})
    yield "schema-of-30-digits.json", spoiled(b'"schema":1,', b'"schema":' + b"9" * 30 + b",")
    yield "schema-of-5000-digits.json", b'{"schema": ' + b"9" * 5000 + b"}"
    yield "old-schema.json", changed(schema=0)
    yield "missing-field.json", msgspec.json.encode({name: value for name, value in plain.items() if name != "machine"})
    yield "wrong-type.json", changed(settings=plain["settings"] | {"threads": "two"})
    yield "deep-in-an-unknown-field.json", b'{"schema": 1, "more": ' + b"[" * 5000 + b"]" * 5000 + b"}"
    yield "deep-in-a-known-field.json", b'{"schema": 1, "machine": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}"
    yield "infinite.json", spoiled(b'"margin":0.02', b'"margin":1e999')
    yield "infinite-deep-inside.json", spoiled(b'"tolerance":0.00001', b'"tolerance":-1e999')
    yield "nan.json", spoiled(b'"margin":0.02', b'"margin":NaN')
    yield "time-of-400-digits.json", spoiled(b'"window_ns":', b'"window_ns":1' + b"0" * 400)
    yield "bytes-of-25-digits.json", spoiled(b'"cgroup":1', b'"cgroup":' + b"1" * 25)
    yield "margin-of-5.json", spoiled(b'"margin":0.02', b'"margin":5.0')
    yield "batch-of-0.json", spoiled(b'"batch":1,"threads"', b'"batch":0,"threads"')
    yield "threads-below-0.json", spoiled(b'"batch":1,"threads":2', b'"batch":1,"threads":-2')
    block = plain["blocks"][0]
    generation = block["generations"][0]
    yield "a-case-twice.json", changed(blocks=[block, block])
    yield "an-arm-twice.json", changed(blocks=[block | {"arms": block["arms"] * 2}])
    yield "a-generation-twice.json", changed(blocks=[block | {"generations": [generation, generation]}])
    for name in ("launches", "rounds"):
        twice = generation | {name: generation[name] * 2}
        yield f"{name}-twice.json", changed(blocks=[block | {"generations": [twice]}])
