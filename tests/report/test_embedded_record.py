"""The record inside a page: out again as it went in, bounded, and enough to compute every figure."""

import base64
import json
import statistics
import time
import zlib
from typing import Any

import msgspec
import pytest

from levelfield.analysis import analyse, whole_launch
from levelfield.errors import LevelfieldError
from levelfield.record import bounds
from levelfield.record.schema import Run
from levelfield.record.states import State
from levelfield.report import embedded_record, thinning
from levelfield.report.embedded_record import PageRecord
from levelfield.report.thinning import Embedded, WindowFacts
from tests.analysis.probed import probed
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


def embedded_in_page(run: Run) -> Embedded:
    """Return the record as a reader takes it out of the page."""
    return embedded_record.unpack(embedded_record.pack(embedded_record.carry(run, analyse(run)))).embedded


@pytest.mark.parametrize("scenarios", [("latency",), ("throughput", "latency", "memory", "cold-start")])
@pytest.mark.parametrize("seed", range(3))
def test_a_thinned_record_gives_the_very_analysis_of_the_whole_one(seed: int, scenarios: tuple[str, ...]) -> None:
    run = make_run(
        seed=seed,
        models=("mlp",),
        scenarios=scenarios,
        max_calls=1201,
        window_seconds=1.0,
        disturbed=(1, 4),
        control="jax",
    )
    embedded = embedded_in_page(run)
    assert len(embedded.thinned) >= 7
    assert embedded_record.with_tails(analyse(embedded_record.restored(embedded)), embedded) == analyse(run)
    assert list(embedded_record.unsupported(embedded)) == []


def test_a_window_with_a_time_of_nothing_counts_nowhere_in_either() -> None:
    run = make_run(
        models=("mlp",), backends=("jax", "torch"), scenarios=("latency",), max_calls=400, window_seconds=1.0
    )
    plain = json.loads(msgspec.json.encode(run))
    plain["blocks"][0]["generations"][0]["rounds"][0]["turns"][0]["window"]["samples_ns"][1] = 0
    run = msgspec.convert(plain, Run)
    embedded = embedded_in_page(run)
    assert embedded.thinned
    assert embedded_record.with_tails(analyse(embedded_record.restored(embedded)), embedded) == analyse(run)


def test_medians_that_the_samples_inside_cannot_have_are_named() -> None:
    run = make_run(models=("mlp",), backends=("jax",), scenarios=("latency",), max_calls=1201, window_seconds=1.0)
    embedded = embedded_in_page(run)
    (thinned,) = (each for each in embedded.thinned if each.result.startswith("jax/"))
    faster = tuple(msgspec.structs.replace(each, median_ns=each.median_ns / 3) for each in thinned.windows)
    for wrong in (
        msgspec.structs.replace(thinned, windows=faster),
        msgspec.structs.replace(thinned, of=thinned.of + 1),
        msgspec.structs.replace(thinned, kept=thinned.kept - 1),
    ):
        changed = msgspec.structs.replace(embedded, thinned=(wrong,))
        assert list(embedded_record.unsupported(changed)) == [thinned.result]


def test_a_generation_takes_as_long_by_the_page_as_by_the_record() -> None:
    """The first call after others had their turn is slower than the rest: it must not stand for all of them."""
    made = msgspec.to_builtins(make_run(models=("mlp",), scenarios=("latency",), max_calls=1000, window_seconds=1.0))
    for turn in (
        turn
        for generation in made["blocks"][0]["generations"]
        for round_ in generation["rounds"]
        for turn in round_["turns"]
    ):
        calls = turn["window"]["samples_ns"]
        turn["window"]["rewarm_ns"] = [100 * calls[0], *calls[: len(calls) // 2]]
    run = msgspec.convert(made, Run)
    embedded = thinning.thin(run, "digest")
    assert embedded.thinned
    restored = embedded_record.restored(embedded)
    assert whole_launch.generation_seconds(restored.blocks[0]) == whole_launch.generation_seconds(run.blocks[0])


def test_a_record_that_travelled_whole_is_the_record_itself() -> None:
    run = make_run(models=("mlp",), backends=("jax",), scenarios=("latency",), rounds=2, max_calls=9)
    embedded = embedded_in_page(run)
    assert embedded.thinned == ()
    assert embedded_record.restored(embedded) is embedded.record
    assert embedded.record == run
    assert list(embedded_record.unsupported(embedded)) == []


@pytest.mark.parametrize(("calls", "median_ns"), [(1, 5.0), (2, 5.5), (7, 1e9), (1000, 5.5), (1000, 5.0)])
def test_a_restored_window_has_the_calls_and_the_median_that_are_stated(calls: int, median_ns: float) -> None:
    round_ = make_run(models=("mlp",), scenarios=("latency",), rounds=1, max_calls=9).blocks[0].generations[0].rounds[0]
    assert round_.turns[0].window is not None
    window = msgspec.structs.replace(round_.turns[0].window, rewarm_ns=(9, 8), samples_ns=(4, 7))
    facts = WindowFacts(arm="jax", generation=0, round=0, calls=calls, median_ns=median_ns, rewarm_calls=3)
    made = embedded_record.restore_window(window, facts)
    assert len(made.samples_ns) == calls
    assert statistics.median(made.samples_ns) == median_ns
    assert made.rewarm_ns == (9, 9, 9)
    assert made.window_ns == window.window_ns


def test_a_window_that_is_not_in_the_record_is_named() -> None:
    run = make_run(models=("mlp",), backends=("jax",), scenarios=("latency",), max_calls=1201, window_seconds=1.0)
    embedded = embedded_in_page(run)
    thinned = next(each for each in embedded.thinned if each.result.startswith("jax/"))
    elsewhere = (msgspec.structs.replace(thinned.windows[0], round=99), *thinned.windows[1:])
    wrong = msgspec.structs.replace(thinned, windows=elsewhere)
    assert list(embedded_record.unsupported(msgspec.structs.replace(embedded, thinned=(wrong,)))) == [thinned.result]


def test_a_window_that_was_taken_again_is_restored_as_the_attempt_that_it_was() -> None:
    def attempts(generation: int, number: int, _arm: str) -> tuple[State, ...]:
        return ("contended", "calm") if (generation + number) % 2 else ("calm",)

    whole = probed(make_run(models=("mlp",), scenarios=("latency",)), attempts, {"torch": 1.5})
    embedded = thinning.thin(whole, "digest", cap=200)
    assert embedded.thinned
    assert list(embedded_record.unsupported(embedded)) == []
    found = embedded_record.with_tails(analyse(embedded_record.restored(embedded)), embedded)
    for row, other in zip(found.timed[0].rows, analyse(whole).timed[0].rows, strict=True):
        assert (row.arm, row.rank, row.not_calm, row.counts) == (other.arm, other.rank, other.not_calm, other.counts)
        assert row.ratio == other.ratio
        assert row.contended == other.contended
