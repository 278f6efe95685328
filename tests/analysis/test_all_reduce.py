"""Time and bandwidth of a sum over all processes, from the record."""

import msgspec
import pytest

from levelfield import analysis
from levelfield.analysis import all_reduce
from levelfield.record.schema import Absent, AllReduce, Run
from levelfield.report import html, units
from tests.records_builder import make_run


def summed(run: Run, samples_ns: dict[str, tuple[int, ...]]) -> Run:
    """Give the launches of arms such sums of 1,000,000 bytes; generation by generation a microsecond longer."""
    blocks = []
    for block in run.blocks:
        generations = []
        for generation in block.generations:
            launches = tuple(
                msgspec.structs.replace(
                    launch,
                    all_reduce=AllReduce(
                        1_000_000, tuple(each + 1000 * generation.index for each in samples_ns[launch.arm])
                    ),
                )
                if launch.arm in samples_ns
                else msgspec.structs.replace(launch, all_reduce=Absent("not asked"))
                for launch in generation.launches
            )
            generations.append(msgspec.structs.replace(generation, launches=launches))
        blocks.append(msgspec.structs.replace(block, generations=tuple(generations)))
    return msgspec.structs.replace(run, blocks=tuple(blocks))


def test_the_median_of_medians_and_what_a_ring_would_send() -> None:
    run = make_run(models=["mlp"], backends=["torch", "jax"], scenarios=["training"], processes=(1, 4), max_calls=3)
    assert all_reduce.summarise(run) == ()
    _, together = run.blocks
    run = msgspec.structs.replace(run, blocks=(together,))
    run = summed(run, {"torch": (900_000, 1_000_000, 9_000_000)})
    (found,) = all_reduce.summarise(run)
    assert (found.case, found.vector_bytes) == (together.case, 1_000_000)
    (row,) = found.rows
    assert (row.arm, row.launches, row.median_ns) == ("torch", 5, 1_002_000)
    assert (row.lowest_ns, row.highest_ns) == (1_000_000, 1_004_000)
    assert row.bus_bytes_per_s == pytest.approx(2 * 3 / 4 * 1_000_000 / 1.002e-3)
    page = html.render(run, analysis.analyse(run))
    assert 'id="all-reduce"' in page
    assert f"{units.size(row.bus_bytes_per_s)}/s" in page


def test_a_page_without_sums_has_no_such_section() -> None:
    run = make_run(models=["mlp"], backends=["torch"], scenarios=["training"], max_calls=3)
    assert 'id="all-reduce"' not in html.render(run, analysis.analyse(run))
