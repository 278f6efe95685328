"""Single operators have one table, on the page and in the terminal, and stand in no other list."""

import re

import msgspec

from levelfield.analysis import analyse
from levelfield.record.schema import Run
from levelfield.report import html, operators
from levelfield.zoo import flops, models
from tests.records_builder import make_run
from tests.report.plain import plain

PRODUCT, SOFTMAX, CONVOLUTION = "gemm-512x1x512", "softmax-128x8192", "conv-64x56x56-64x3x3"


def made(**changes: float) -> Run:
    """Let a record's latencies be of operators: a record is what it says."""
    run = make_run(models=("mlp", "resnet50"), scenarios=("latency",), **changes)  # type: ignore[arg-type]  # by name
    text = msgspec.json.encode(run).decode()
    for model, name in (("mlp", PRODUCT), ("resnet50", SOFTMAX)):
        text = text.replace(f'"model":"{model}","scenario":"latency"', f'"model":"{name}","scenario":"operators"')
    work = tuple(flops.count(models.get(name)) for name in (PRODUCT, SOFTMAX))
    return msgspec.structs.replace(msgspec.json.decode(text, type=Run), work=work)


def found(run: Run) -> operators.OperatorTable:
    table = operators.table(analyse(run))
    assert table is not None
    return table


def test_each_has_a_line_with_every_arm_and_the_first_ranks() -> None:
    run = made(noise_scale=0.0)
    table = found(run).table
    assert [plain(line.cells[0].text) for line in table.lines] == [
        "Matrix product 512 × 1 × 512",
        "Softmax of 128 × 8192",
    ]
    arms = [head.text for head in table.heads[2:-2]]
    assert arms == sorted(arm.id for arm in run.blocks[0].arms)
    for line, block in zip(table.lines, analyse(run).timed, strict=True):
        ranks = {row.arm: row.rank for row in block.rows}
        bold = [arm for arm, cell in zip(arms, line.cells[2:-2], strict=True) if cell.tone == "enough"]
        assert bold == [arm for arm in arms if ranks[arm] == 1]
        assert str(block.best) in line.cells[1].text


def test_what_is_reached_is_of_arithmetic_or_bandwidth() -> None:
    run = made()
    small, moving = (line.cells[-2].text for line in found(run).table.lines)
    assert re.search(r": [\d.]+\s[kMG]?FLOP/s, [\d.]+\s% of the arithmetic$", small)
    assert re.search(r": [\d.]+\s[kMG]?B/s, [\d.]+\s% of the bandwidth of memory, from the cache$", moving)
    (product, softmax) = run.work
    larger = msgspec.structs.replace(softmax, widest_bytes=1 << 40, activation_bytes=1 << 30)
    beyond = found(msgspec.structs.replace(run, work=(product, larger))).table.lines[1].cells[-2].text
    assert beyond.endswith(" of the bandwidth")


def test_the_roofline_has_a_mark_for_all_that_computes_under_both_ceilings() -> None:
    run = made(noise_scale=0.0)
    assert found(run).rooflines == ()  # the softmax computes nothing, and one mark is no chart
    text = msgspec.json.encode(run).decode().replace(SOFTMAX, CONVOLUTION)
    work = [flops.count(models.get(name)) for name in (PRODUCT, CONVOLUTION)]
    ((threads, chart),) = found(msgspec.structs.replace(msgspec.json.decode(text, type=Run), work=work)).rooflines
    assert threads == run.blocks[0].case.threads
    assert [(spot.shape, spot.label.partition(":")[0]) for spot in chart.spots] == [
        ("circle", "Matrix product 512 × 1 × 512"),
        ("square", "Convolution of 64 × 56 × 56, 64 filters of 3 × 3"),
    ]
    (left, left_y), (ridge, ridge_y), (right, right_y) = chart.ideal
    assert left <= ridge <= right
    assert left_y >= ridge_y == right_y  # from the top
    assert all(spot.low is not None and spot.low >= spot.y for spot in chart.spots)


def test_the_page_has_one_section_of_them_and_no_empty_table() -> None:
    run = made()
    page = html.render(run, analyse(run))
    assert page.count('id="operators"') == 1
    assert "Table: errors against the reference" not in page
    mixed = make_run(models=("bert",), scenarios=("latency",))
    assert 'id="operators"' not in html.render(mixed, analyse(mixed))
    assert "Table: errors against the reference" in html.render(mixed, analyse(mixed))
