"""Tables from records: nothing lost, nothing made up, and no formula for a spreadsheet."""

import msgspec
import pytest

from levelfield import analysis
from levelfield.report.export import RUN, TABLES, columns_of
from tests.report.export.written import record, table


@pytest.mark.parametrize("name", TABLES)
def test_every_table_names_what_each_row_is_of(name: str) -> None:
    made = record()
    found = table(name, made)
    assert found
    for row in found:
        assert row["run"] == made.id
        assert row["model"] == "mlp"
        assert row["arm"]
    assert len({tuple(row.items()) for row in found}) == len(found)


def test_every_call_is_there() -> None:
    made = record()
    samples = [
        sample
        for block in made.blocks
        for generation in block.generations
        for round_ in generation.rounds
        for turn in round_.turns
        if turn.window is not None
        for sample in turn.window.samples_ns
    ]
    assert sorted(int(row["call_ns"]) for row in table("calls", made)) == sorted(samples)
    assert sum(int(row["calls"]) for row in table("windows", made)) == len(samples)


def test_results_are_those_of_the_report() -> None:
    made = record()
    found = {(row["scenario"], row["arm"]): row for row in table("results", made)}
    for block in analysis.analyse(made).timed:
        for row in block.rows:
            cells = found[block.case.scenario, row.arm]
            estimate = row.items_per_second if block.case.per_item else row.call_ns
            assert estimate is not None
            assert float(cells["value"]) == estimate.value
            assert cells["rank"] == ("" if row.rank is None else str(row.rank))
    assert found["memory", "jax"]["unit"] == "bytes"


def test_a_launch_says_how_its_environment_was_padded() -> None:
    made = record()
    launches = made.blocks[0].generations[0].launches
    padded = tuple(
        msgspec.structs.replace(launch, environment_padding_bytes=length or None)
        for length, launch in enumerate(launches)
    )
    generation = msgspec.structs.replace(made.blocks[0].generations[0], launches=padded)
    block = msgspec.structs.replace(made.blocks[0], generations=(generation,))
    rows = table("launches", msgspec.structs.replace(made, blocks=(block,)))
    assert [row["environment_padding_bytes"] for row in rows] == ["", *map(str, range(1, len(rows)))]


def test_a_launch_says_whether_it_found_something_compiled() -> None:
    made = record()
    launches = [launch for block in made.blocks for each in block.generations for launch in each.launches]
    assert [row["cache_warm"] for row in table("launches", made)] == [str(launch.cache_warm) for launch in launches]


@pytest.mark.parametrize("table", TABLES)
def test_every_table_begins_with_what_names_the_run_and_the_arm(table: str) -> None:
    assert columns_of(table)[: len(RUN)] == RUN
    assert len(set(columns_of(table))) == len(columns_of(table))
