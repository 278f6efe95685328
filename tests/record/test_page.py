"""The record inside its page: out again as it went in, and bounded; the oldest pages say what to ask for."""

import base64
import gzip
import hashlib
import json
import time
import zlib
from typing import Any

import pytest

from levelfield.analysis import analyse
from levelfield.errors import LevelfieldError
from levelfield.record import files, page
from levelfield.report import html
from tests.records_builder import make_run

SMALL = make_run(models=("mlp",), backends=("jax", "torch"), scenarios=("latency",), rounds=2, max_calls=9)
CONTENT = files.encode(SMALL)
BLOCK = page.pack(CONTENT).block


def envelope(**changed: Any) -> str:
    return json.dumps(json.loads(BLOCK) | changed, separators=(",", ":"))


def packed(content: bytes, data: bytes, **changed: Any) -> str:
    """Anything in a block whose digests fit."""
    sha256 = hashlib.sha256(content).hexdigest()
    data64 = base64.b64encode(data).decode()
    return envelope(**{"sha256": sha256, "size_bytes": len(content), "data": data64} | changed)


def test_it_comes_out_as_it_went_in_however_it_was_compressed() -> None:
    assert page.unpack(BLOCK) == CONTENT
    for level in (0, 1, 9):
        assert page.unpack(packed(CONTENT, gzip.compress(CONTENT, level, mtime=0))) == CONTENT
    assert len(BLOCK) < len(CONTENT) / 2


@pytest.mark.parametrize(
    ("block", "code", "says"),
    [
        ("", 2, "is none"),
        ("[" * 100_000, 2, "is none"),
        (envelope(format="levelfield-record-9"), 2, "levelfield-record-9"),
        ('{"format":"levelfield-record-1","packed_sha256":""}', 2, "has the format 'levelfield-record-1'"),
        (envelope(sha256="0" * 64), 1, "changed or damaged"),
        (envelope(size_bytes=10**12), 2, "larger than 536870912 bytes"),
        (envelope(data="@@@@"), 1, "changed or damaged"),
        (envelope(more=1), 2, "is none"),
        (f" {BLOCK}", 1, "changed or damaged"),
        (BLOCK.replace('{"format"', '{"data":"","format"'), 1, "changed or damaged"),
        (packed(CONTENT, gzip.compress(CONTENT, mtime=0) + b"more"), 1, "changed or damaged"),
        (packed(CONTENT, gzip.compress(CONTENT, mtime=0)[:-1]), 1, "changed or damaged"),
    ],
)
def test_what_is_no_record_is_one_sentence(block: str, code: int, says: str) -> None:
    with pytest.raises(LevelfieldError) as caught:
        page.unpack(block)
    assert caught.value.exit_code == code
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("claimed", "says"), [(1000, "changed or damaged"), (2**40, "larger than")])
def test_a_bomb_is_not_unpacked(claimed: int, says: str) -> None:
    began = time.process_time()
    packer = zlib.compressobj(9, wbits=31)
    data = b"".join(packer.compress(bytes(2**24)) for _ in range(16)) + packer.flush()  # 256 MB of nothing
    with pytest.raises(LevelfieldError, match=says):
        page.unpack(packed(b"", data, size_bytes=claimed))
    assert time.process_time() - began < 20


def test_a_statement_goes_in_and_out_of_a_page() -> None:
    made = page.pack(CONTENT)
    stated = page.Evidence(made.block, made.sha256, '{"a": "</script>"}\n', "signed\n")
    text = html.render(SMALL, analyse(SMALL), evidence=stated)
    assert page.split(text.encode()) == (made.block, (stated.statement, stated.signature))
    assert page.record_in(text.encode()) == page.record_in(CONTENT) == CONTENT


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("<html>", 2, "carries no record"),
        ("<html>\udcff", 1, "not text"),
        (f"<html>{page._RECORD}{BLOCK}", 1, "breaks off"),
        (f"<html>{page._RECORD}{BLOCK}</script>" * 2, 2, "two records"),
        (f"<html>{page._RECORD}{BLOCK}</SCRIPT>forged</script>", 1, "markup"),
        (f"<html>{page._RECORD}{BLOCK}</script>{page._STATEMENT}[]</script>", 1, "something else"),
    ],
)
def test_a_page_without_one_whole_record_is_refused(text: str, code: int, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says) as caught:
        page.split(text.encode(errors="surrogateescape"))
    assert caught.value.exit_code == code
