"""Projections travel once, and come back to every launch."""

import msgspec
import pytest

from levelfield.record.schema import Block, Run
from levelfield.report import projections, restoring, thinning
from tests.records_builder import make_run


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
    once = projections.once(run.blocks)
    arms = sum(launch.parity is not None for launch in run.blocks[0].generations[0].launches)
    assert sum(map(bool, kept(once))) == arms < len(kept(once))
    assert projections.everywhere(once) == run.blocks


def test_another_projection_of_the_same_output_is_not_lost(run: Run) -> None:
    (block,) = run.blocks
    last = block.generations[-1]
    place, launch, parity = next(
        (index, each, each.parity) for index, each in enumerate(last.launches) if each.parity is not None
    )
    odd = msgspec.structs.replace(launch, parity=msgspec.structs.replace(parity, projection=(1.0, 2.0)))
    changed = msgspec.structs.replace(last, launches=(*last.launches[:place], odd, *last.launches[place + 1 :]))
    blocks = (msgspec.structs.replace(block, generations=(*block.generations[:-1], changed)),)
    assert projections.everywhere(projections.once(blocks)) == blocks


def test_a_page_has_them_once_and_pages_of_earlier_versions_all(run: Run) -> None:
    embedded, earlier = thinning.thin(run, "digest"), thinning.thin(run, "digest", projections_once=False)
    assert kept(earlier.record.blocks) == kept(run.blocks) == kept(restoring.restored(embedded).blocks)
    assert embedded.projections_once
    assert not earlier.projections_once
    assert not all(kept(embedded.record.blocks))


def test_a_record_that_travels_whole_has_all_of_them() -> None:
    small = make_run(models=("mlp",), backends=("jax",), scenarios=("latency",), rounds=2, max_calls=9)
    embedded = thinning.thin(small, "digest")
    assert embedded.record == small
    assert not embedded.projections_once
