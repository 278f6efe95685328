"""Projections travel once, and come back to every launch."""

import doctest

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield.record.schema import Block, Run
from levelfield.report import embedded_record, thinning
from tests.records_builder import make_run


def samples_of(run: Run, arm: str) -> int:
    return sum(
        len(turn.window.samples_ns)
        for block in run.blocks
        for generation in block.generations
        for round_ in generation.rounds
        for turn in round_.turns
        if turn.arm == arm and turn.window is not None
    )


def test_examples_in_docstrings_hold() -> None:
    assert doctest.testmod(thinning).failed == 0


@given(st.lists(st.integers(1, 10**9), max_size=200), st.floats(0.001, 1.0))
def test_evenly_keeps_order_share_and_at_least_one(values: list[int], factor: float) -> None:
    kept = thinning.evenly(tuple(values), factor)
    assert len(kept) == min(len(values), max(1, int(len(values) * factor)))
    position = iter(values)
    assert all(value in position for value in kept)  # a subsequence


def test_gaps_between_kept_samples_are_even() -> None:
    kept = np.array(thinning.evenly(tuple(range(10_007)), 0.01))
    gaps = np.diff(kept)
    assert gaps.max() - gaps.min() <= 1


def test_a_small_record_travels_whole() -> None:
    run = make_run(max_calls=50)
    embedded = thinning.thin(run, "digest")
    assert embedded.record == run
    assert embedded.thinned == ()


def test_a_large_result_is_capped_and_its_counts_stated() -> None:
    run = make_run(models=("mlp",), scenarios=("latency",), max_calls=1000, window_seconds=1.0)
    embedded = thinning.thin(run, "digest")
    (torch,) = (entry for entry in embedded.thinned if entry.result == "torch/mlp/latency/fp32/b1/t2/cpu")
    assert torch.of == samples_of(run, "torch") == 30_000
    assert torch.kept == samples_of(embedded.record, "torch")
    assert 0.9 * thinning.SAMPLES_PER_RESULT < torch.kept <= thinning.SAMPLES_PER_RESULT


def test_facts_of_thinned_windows_are_those_of_the_whole_ones() -> None:
    run = make_run(models=("mlp",), scenarios=("latency",), max_calls=1000, window_seconds=1.0)
    (entry,) = (entry for entry in thinning.thin(run, "digest").thinned if entry.result.startswith("jax/"))
    facts = entry.windows[0]
    turns = run.blocks[0].generations[facts.generation].rounds[facts.round].turns
    (window,) = (turn.window for turn in turns if turn.arm == "jax")
    assert window is not None
    assert facts.calls == len(window.samples_ns)
    assert facts.median_ns == np.median(window.samples_ns)
    assert len(entry.windows) == 30


def test_everything_but_samples_is_untouched() -> None:
    run = make_run(models=("mlp",), scenarios=("latency",), max_calls=1000, window_seconds=1.0)
    thinned = thinning.thin(run, "digest").record
    assert msgspec.structs.replace(thinned, blocks=run.blocks) == run
    for before, after in zip(run.blocks[0].generations, thinned.blocks[0].generations, strict=True):
        assert before.launches == after.launches
        assert [round_.disturbed for round_ in before.rounds] == [round_.disturbed for round_ in after.rounds]


def test_what_travels_decodes_to_the_same() -> None:
    run = make_run(max_calls=400, window_seconds=1.0)
    embedded, content = thinning.embed(run, "digest")
    assert msgspec.json.decode(content, type=thinning.Embedded) == embedded
    assert len(content) < len(msgspec.json.encode(embedded))


def test_a_very_large_run_is_thinned_further_until_it_fits() -> None:
    run = make_run(models=("mlp",), scenarios=("latency",), max_calls=2000, window_seconds=1.0)
    _, plenty = thinning.embed(run, "digest")
    embedded, content = thinning.embed(run, "digest", budget_bytes=len(plenty) * 2 // 3)
    assert thinning.FEWEST < embedded.cap < thinning.SAMPLES_PER_RESULT
    assert len(content) <= len(plenty) * 2 // 3
    assert thinning.embed(run, "digest", budget_bytes=1)[0].cap == thinning.FEWEST


@pytest.fixture(scope="module")
def run() -> Run:
    """A record as real ones are: every launch of an arm has the same output, and so the same projection."""
    made = make_run(models=("mlp",), scenarios=("latency",), max_calls=1200, window_seconds=1.0)
    (block,) = made.blocks
    first = {launch.arm: launch.parity for launch in block.generations[0].launches if launch.parity is not None}
    own = {arm: msgspec.structs.replace(parity, output_sha256=f"of {arm}") for arm, parity in first.items()}
    generations = tuple(
        msgspec.structs.replace(
            generation,
            launches=tuple(msgspec.structs.replace(each, parity=own.get(each.arm)) for each in generation.launches),
        )
        for generation in block.generations
    )
    return msgspec.structs.replace(made, blocks=(msgspec.structs.replace(block, generations=generations),))


def kept(blocks: tuple[Block, ...]) -> list[tuple[float, ...]]:
    return [
        launch.parity.projection
        for block in blocks
        for generation in block.generations
        for launch in generation.launches
        if launch.parity is not None
    ]


def test_a_projection_travels_once_and_comes_back_to_every_launch(run: Run) -> None:
    once = thinning.without_repeats(run.blocks)
    arms = sum(launch.parity is not None for launch in run.blocks[0].generations[0].launches)
    assert sum(map(bool, kept(once))) == arms < len(kept(once))
    assert thinning.with_repeats(once) == run.blocks


def test_another_projection_of_the_same_output_is_not_lost(run: Run) -> None:
    (block,) = run.blocks
    last = block.generations[-1]
    place, launch, parity = next(
        (index, each, each.parity) for index, each in enumerate(last.launches) if each.parity is not None
    )
    odd = msgspec.structs.replace(launch, parity=msgspec.structs.replace(parity, projection=(1.0, 2.0)))
    changed = msgspec.structs.replace(last, launches=(*last.launches[:place], odd, *last.launches[place + 1 :]))
    blocks = (msgspec.structs.replace(block, generations=(*block.generations[:-1], changed)),)
    assert thinning.with_repeats(thinning.without_repeats(blocks)) == blocks


def test_a_page_has_them_once_and_pages_of_earlier_versions_all(run: Run) -> None:
    embedded, earlier = thinning.thin(run, "digest"), thinning.thin(run, "digest", projections_once=False)
    assert kept(earlier.record.blocks) == kept(run.blocks) == kept(embedded_record.restored(embedded).blocks)
    assert embedded.projections_once
    assert not earlier.projections_once
    assert not all(kept(embedded.record.blocks))


def test_a_record_that_travels_whole_has_all_of_them() -> None:
    small = make_run(models=("mlp",), backends=("jax",), scenarios=("latency",), rounds=2, max_calls=9)
    embedded = thinning.thin(small, "digest")
    assert embedded.record == small
    assert not embedded.projections_once
