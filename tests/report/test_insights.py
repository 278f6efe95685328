"""Insights in words: the numbers are in them, shares above 100 % are explained, and both surfaces say them."""

import io

import msgspec
from markupsafe import escape
from rich.console import Console

from levelfield.analysis import analyse
from levelfield.record.schema import Absent, Run
from levelfield.report import html, insights, terminal, units
from tests.records_builder import ROOFLINE, make_run


def insights_text(run: Run) -> str:
    found = insights.sections(analyse(run).insights)
    text = "\n".join([line for section in found for line in (section.title, section.lead, *section.sentences)])
    return text.replace(units.NBSP, " ").replace(units.GROUP_SPACE, " ")


def test_more_than_a_hundred_percent_is_explained_by_the_evidence() -> None:
    (bert,) = [
        line for line in insights_text(make_run(models=("bert",), noise_scale=0.0)).splitlines() if "no mistake" in line
    ]
    assert "(openvino up to 117 %, " in bert, "the highest of all cases"
    assert "these arms multiply with oneDNN, and NumPy with OpenBLAS" in bert
    assert "the reference measurement's own samples reach up to 318 GFLOP/s" in bert
    assert "Winograd" not in bert, "there are no convolutions in it"
    both = insights_text(make_run(models=("bert", "resnet50"), noise_scale=0.0))
    (line,) = [line for line in both.splitlines() if "no mistake" in line]
    assert "up to 37 % of the arithmetic is in 3×3 convolutions" in line


def test_more_than_the_bandwidth_is_explained() -> None:
    slow = msgspec.structs.replace(ROOFLINE, copy_ns=(900_000_000,), add_ns=(900_000_000,))
    text = insights_text(make_run(models=("resnet50",), noise_scale=0.0, roofline=(slow,)))
    assert "emory-bound, by share of the measured bandwidth: " in text
    (line,) = [line for line in text.splitlines() if "of the bandwidth (" in line]
    assert "never left the caches, or that memory is faster than NumPy's copies" in line


def test_nothing_above_a_ceiling_is_nothing_said() -> None:
    fast = msgspec.structs.replace(ROOFLINE, gemm_ns=(1_000_000,), copy_ns=(1_000,))
    assert "More than 100 %" not in insights_text(make_run(noise_scale=0.0, roofline=(fast,)))


def test_by_a_disturbed_yardstick_nothing_is_said_but_that() -> None:
    probe = msgspec.structs.replace(ROOFLINE, disturbed="other processes took 9.0% of the CPU time")
    run = make_run(models=("bert",), noise_scale=0.0, roofline=(probe,))
    text = insights_text(run)
    assert "Bottlenecks on 2 threads unavailable: the reference measurement was disturbed " in text
    assert "(other processes took 9.0% of the CPU time)." in text
    assert "Compute-bound" not in text
    assert "GFLOP/s</td>" not in html.render(run, analyse(run))


def test_nothing_is_said_without_evidence() -> None:
    run = make_run(models=("mlp",), scenarios=("latency",), roofline=Absent("it was not measured"))
    assert insights_text(run) == ""
    assert "Insights" not in html.render(run, analyse(run)).replace("id=", "")


def test_the_page_has_them_with_their_numbers() -> None:
    run = make_run()
    page = html.render(run, analyse(run))
    assert '<a href="#insights">Insights</a>' in page
    found = analyse(run).insights
    for section in insights.sections(found):
        assert section.title in page
        for part in section.shown:
            assert all(escape(sentence) in page.replace("\u2060", "") for sentence in part.listed)
            for table in part.tables:
                assert page.count("<tr", page.index(table.title)) > len(table.lines)
    for use in found.resources:
        assert insights.asked(use) in page
        assert all(insights.others(arm) in page for arm in use.uses)
    assert all(insights.kept_free(each) in page and insights.held_at_most(each) in page for each in found.headroom)
    assert "in the cache" in page


def test_the_terminal_says_the_first_of_each_kind() -> None:
    run = make_run()
    console = Console(file=io.StringIO(), width=120, force_terminal=False)
    terminal.show(run, analyse(run), console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    found = insights.sections(analyse(run).insights)
    for section in found:
        assert section.title in text
    assert text.count("• ") == sum(min(len(section.sentences), terminal.INSIGHTS) for section in found)
    assert f"and {len(found[0].sentences) - terminal.INSIGHTS} more in the report" in text
