"""A record restored from the one inside a page: every figure of the whole one."""

import json
import statistics

import msgspec
import pytest

from levelfield.analysis import analyse, whole_launch
from levelfield.record.schema import Run
from levelfield.record.states import State
from levelfield.report import embedded_record, restoring, thinning
from levelfield.report.thinning import Embedded, WindowFacts
from tests.analysis.probed import probed
from tests.records_builder import make_run


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
    assert restoring.with_tails(analyse(restoring.restored(embedded)), embedded) == analyse(run)
    assert list(restoring.unsupported(embedded)) == []


def test_a_window_with_a_time_of_nothing_counts_nowhere_in_either() -> None:
    run = make_run(
        models=("mlp",), backends=("jax", "torch"), scenarios=("latency",), max_calls=400, window_seconds=1.0
    )
    plain = json.loads(msgspec.json.encode(run))
    plain["blocks"][0]["generations"][0]["rounds"][0]["turns"][0]["window"]["samples_ns"][1] = 0
    run = msgspec.convert(plain, Run)
    embedded = embedded_in_page(run)
    assert embedded.thinned
    assert restoring.with_tails(analyse(restoring.restored(embedded)), embedded) == analyse(run)


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
        assert list(restoring.unsupported(changed)) == [thinned.result]


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
    restored = restoring.restored(embedded)
    assert whole_launch.generation_seconds(restored.blocks[0]) == whole_launch.generation_seconds(run.blocks[0])


def test_a_record_that_travelled_whole_is_the_record_itself() -> None:
    run = make_run(models=("mlp",), backends=("jax",), scenarios=("latency",), rounds=2, max_calls=9)
    embedded = embedded_in_page(run)
    assert embedded.thinned == ()
    assert restoring.restored(embedded) is embedded.record
    assert embedded.record == run
    assert list(restoring.unsupported(embedded)) == []


@pytest.mark.parametrize(("calls", "median_ns"), [(1, 5.0), (2, 5.5), (7, 1e9), (1000, 5.5), (1000, 5.0)])
def test_a_restored_window_has_the_calls_and_the_median_that_are_stated(calls: int, median_ns: float) -> None:
    round_ = make_run(models=("mlp",), scenarios=("latency",), rounds=1, max_calls=9).blocks[0].generations[0].rounds[0]
    assert round_.turns[0].window is not None
    window = msgspec.structs.replace(round_.turns[0].window, rewarm_ns=(9, 8), samples_ns=(4, 7))
    facts = WindowFacts(arm="jax", generation=0, round=0, calls=calls, median_ns=median_ns, rewarm_calls=3)
    made = restoring.restore_window(window, facts)
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
    assert list(restoring.unsupported(msgspec.structs.replace(embedded, thinned=(wrong,)))) == [thinned.result]


def test_a_window_that_was_taken_again_is_restored_as_the_attempt_that_it_was() -> None:
    def attempts(generation: int, number: int, _arm: str) -> tuple[State, ...]:
        return ("contended", "calm") if (generation + number) % 2 else ("calm",)

    whole = probed(make_run(models=("mlp",), scenarios=("latency",)), attempts, {"torch": 1.5})
    embedded = thinning.thin(whole, "digest", cap=200)
    assert embedded.thinned
    assert list(restoring.unsupported(embedded)) == []
    found = restoring.with_tails(analyse(restoring.restored(embedded)), embedded)
    for row, other in zip(found.timed[0].rows, analyse(whole).timed[0].rows, strict=True):
        assert (row.arm, row.rank, row.not_calm, row.counts) == (other.arm, other.rank, other.not_calm, other.counts)
        assert row.ratio == other.ratio
        assert row.contended == other.contended
