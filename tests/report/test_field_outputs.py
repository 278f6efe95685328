"""Readings of other tools on the page: a row for each measure, escaped, and nothing where there are none."""

import msgspec
import pytest

from suite.analysis import analyse
from suite.fieldtools import outputs
from suite.record.schema import Absent, FieldOutput, FieldReading, Run
from suite.report import field_outputs, html
from suite.report.embedded_record import Evidence, carry
from suite.share import rendering
from suite.share.page import parse_page
from tests.fieldtools.recorded import FOLDER, names
from tests.records_builder import make_run
from tests.report.hostile import PAYLOAD
from tests.report.plain import plain


def with_outputs(*found: FieldOutput) -> Run:
    run = make_run(models=["mlp"], backends=["jax"], scenarios=["latency"], generations=2, rounds=2, max_calls=3)
    return msgspec.structs.replace(run, field_outputs=found)


@pytest.fixture(scope="module")
def recorded() -> Run:
    return with_outputs(*outputs.read(FOLDER / name for name in names()))


def test_a_measure_is_a_row_from_least_to_greatest(recorded: Run) -> None:
    found = {(row.tool, row.measure): row for row in field_outputs.rows(recorded.field_outputs)}
    copied = found["nvbandwidth v0.8", "host_to_device_memcpy_ce"]
    assert (copied.readings, plain(copied.values)) == (4, "56.4 GB/s")
    latency = found["nvbandwidth v0.8", "host_device_latency_sm"]
    assert plain(latency.values) == "575 ns – 620 ns"
    reduced = found["nccl-tests 2.18.2", "all_reduce_perf in-place bus bandwidth"]
    assert (reduced.readings, plain(reduced.values)) == (8, "3.12 GB/s – 22.9 GB/s")
    assert plain(found["nccl-tests 2.18.2", "all_reduce_perf in-place wrong values"].values) == "0"
    assert found["dcgmi diag 3.1.0", "Custom: software"].values == "8 × pass"
    failed = found["dcgmi diag 4.2.3", "Deployment: software"]
    assert failed.values == "fail"
    assert failed.said.startswith("Persistence Mode: Persistence mode for GPU 0 is disabled.")


def test_what_is_not_known_stands_with_its_reason() -> None:
    readings = (
        FieldReading("copy", "GPU 0, GPU 0", Absent("the tool says N/A")),
        FieldReading("copy", "GPU 0, GPU 1", 1e9, "B/s"),
    )
    [row] = field_outputs.rows([FieldOutput("nvbandwidth", Absent("no"), "", readings=readings)])
    assert (row.tool, plain(row.values)) == ("nvbandwidth", "1.00 GB/s; not known (the tool says N/A)")


def test_the_page_shows_them_and_can_be_rendered_again_from_what_travels_in_it(recorded: Run) -> None:
    analysis = analyse(recorded)
    evidence = Evidence(carry(recorded, analysis, "0" * 64))
    page = html.render(recorded, analysis, evidence=evidence)
    assert "Readings of other tools" in page
    assert "nothing is judged by them" in page
    assert page.count("host_device_latency_sm</th>") == 2
    again = rendering.from_inside(evidence, parse_page(page).around)
    assert again.differing == 0


def test_a_page_without_them_says_nothing_of_them() -> None:
    run = with_outputs()
    assert "other tools" not in html.render(run, analyse(run))


def test_hostile_texts_are_escaped() -> None:
    output = FieldOutput(
        "dcgmi diag", PAYLOAD, PAYLOAD, {PAYLOAD: PAYLOAD}, (FieldReading(PAYLOAD, PAYLOAD, PAYLOAD, PAYLOAD, PAYLOAD),)
    )
    run = with_outputs(output)
    page = html.render(run, analyse(run))
    assert "Readings of other tools" in page
    assert PAYLOAD not in page
