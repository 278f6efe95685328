"""The record inside a page: out again as it went in, bounded, and enough to compute every figure."""

import base64
import json
import time
import zlib
from typing import Any

import pytest

from levelfield.analysis import analyse
from levelfield.errors import LevelfieldError
from levelfield.record import bounds
from levelfield.record.schema import Run
from levelfield.report import embedded_record
from levelfield.report.embedded_record import PageRecord
from tests.records_builder import make_run


def carried(run: Run) -> PageRecord:
    return embedded_record.carry(run, analyse(run))


SMALL = make_run(models=("mlp",), backends=("jax", "torch"), scenarios=("latency",), rounds=2, max_calls=9)
BLOCK = embedded_record.pack(carried(SMALL))


def envelope(**changed: Any) -> bytes:
    return json.dumps(json.loads(BLOCK) | changed).encode()


def packed(content: bytes, **changed: Any) -> bytes:
    """Pack anything with digests that fit."""
    import hashlib

    data = zlib.compress(content, 9)
    return envelope(
        **{
            "packed_sha256": hashlib.sha256(data).hexdigest(),
            "sha256": hashlib.sha256(content).hexdigest(),
            "size_bytes": len(content),
            "data": base64.b64encode(data).decode(),
        }
        | changed
    )


def test_it_comes_out_as_it_went_in() -> None:
    assert embedded_record.unpack(BLOCK) == carried(SMALL)
    assert embedded_record.unpack(BLOCK).embedded.record == SMALL


def test_it_is_a_third_of_what_it_holds() -> None:
    made = carried(make_run(max_calls=400))
    assert len(embedded_record.pack(made)) < len(made.content) / 2


@pytest.mark.parametrize(
    ("block", "code", "says"),
    [
        (b"", 2, "is none"),
        (b"[" * 100_000, 2, "is none"),
        (b"\xff\xfe", 2, "is none"),
        (envelope(format="levelfield-record-9"), 2, "levelfield-record-9"),
        (envelope(sha256="0" * 64), 1, "changed or damaged"),
        (envelope(packed_sha256="0" * 64), 1, "changed or damaged"),
        (envelope(record_sha256="0" * 64), 1, "changed or damaged"),
        (envelope(size_bytes=10**12), 2, "larger than it says"),
        (envelope(size_bytes=-1), 2, "larger than it says"),
        (envelope(size_bytes=10), 2, "larger than it says"),
        (envelope(data="@@@@"), 1, "changed or damaged"),
        (packed(b"[]"), 2, "not of the form"),
        (packed(b"{}"), 2, "not of the form"),
        (packed(b'{"record_sha256":"", "cap":1, "record":' + b"[" * 50_000 + b"]" * 50_000 + b"}"), 2, ""),
        (packed(b'{"record_sha256":"", "cap":1, "record":{"schema":1}}'), 2, "does not follow the schema"),
        (packed(b'{"record_sha256":"", "cap":1, "record":{"schema":99}}'), 2, "newer"),
    ],
)
def test_what_is_no_record_is_one_sentence(block: bytes, code: int, says: str) -> None:
    with pytest.raises(LevelfieldError) as caught:
        embedded_record.unpack(block)
    assert caught.value.exit_code == code
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("claimed", [1000, embedded_record.MAX_BYTES, 2**40])
def test_a_bomb_is_not_unpacked(claimed: int) -> None:
    began = time.process_time()
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(bytes(2**24)) for _ in range(16)) + packer.flush()  # 256 MB of nothing
    with pytest.raises(LevelfieldError):
        embedded_record.unpack(_around(data, claimed))
    assert time.process_time() - began < 20


def _around(data: bytes, size: int) -> bytes:
    import hashlib

    return envelope(
        data=base64.b64encode(data).decode(), packed_sha256=hashlib.sha256(data).hexdigest(), size_bytes=size
    )


@pytest.mark.parametrize("calls", [10**12, -1, 0])
def test_windows_of_a_million_million_calls_are_refused(calls: int) -> None:
    run = make_run(models=("mlp",), backends=("jax",), scenarios=("latency",), max_calls=1201, window_seconds=1.0)
    plain = json.loads(carried(run).content)
    plain["thinned"][0]["windows"][0][3] = calls
    with pytest.raises(LevelfieldError, match="no run has"):
        embedded_record.unpack(packed(json.dumps(plain).encode(), record_sha256=plain["record_sha256"]))


def test_many_windows_of_many_calls_are_refused_too() -> None:
    run = make_run(models=("mlp",), backends=("jax",), scenarios=("latency",), max_calls=1201, window_seconds=1.0)
    plain = json.loads(carried(run).content)
    for window in plain["thinned"][0]["windows"]:
        window[3] = bounds.MAX_CALLS
    with pytest.raises(LevelfieldError, match="too many to compute with"):
        embedded_record.unpack(packed(json.dumps(plain).encode(), record_sha256=plain["record_sha256"]))


def test_numbers_that_are_none_are_refused() -> None:
    run = make_run(models=("mlp",), backends=("jax",), scenarios=("latency",), max_calls=1201, window_seconds=1.0)
    content = carried(run).content.replace(b'"tail":{"p90_ns":', b'"tail":{"p90_ns":1e999,"was":', 1)
    with pytest.raises(LevelfieldError):
        embedded_record.unpack(packed(content))


def test_a_statement_goes_in_and_out() -> None:
    made = embedded_record.Evidence(carried(SMALL), statement='{"a": "</script>"}\n', signature="signed\n")
    assert embedded_record.attested(embedded_record.attest(made)) == (made.statement, made.signature)
    assert embedded_record.attest(embedded_record.Evidence(carried(SMALL))) == b""
    with pytest.raises(LevelfieldError):
        embedded_record.attested(b"[]")
