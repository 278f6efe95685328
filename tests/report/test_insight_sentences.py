"""Insights in words: the numbers are in them, shares above 100 % are explained, and both surfaces say them."""

import io

import msgspec
import pytest
from rich.console import Console

from suite.analysis import analyse
from suite.records.schema import Absent, Run
from suite.report import html, insights, terminal, units
from tests.records_builder import ROOFLINE, make_run


def told(run: Run) -> str:
    found = insights.sections(analyse(run).insights)
    text = "\n".join([line for section in found for line in (section.title, section.lead, *section.sentences)])
    return text.replace(units.NBSP, " ").replace(units.THIN_SPACE, " ")


@pytest.mark.parametrize(
    "words",
    [
        "NumPy, on 2 threads, multiplied matrices of 2048 × 2048 at 312 GFLOP/s (median of 3, 301 GFLOP/s to 318",
        "moved arrays of 128 MiB at 26.8 GB/s",
        "lower bounds of what this machine can do",
        "ResNet-50, latency, batch 1: a call computes 8.18 GFLOP and moves about ",
        "BERT-base, latency, batch 1: a call computes 22.3 GFLOP",
        "Compute-bound are openvino (104 % (104–104 %) of the measured rate, 324 GFLOP/s)",
        "bound by neither ceiling are torch (48 % (48–48 %) of the measured rate;",
        "fit into the last cache of 32.0 MiB. Overhead-bound are ",
        "torch-compile (torch.compile, inductor, static shapes) on ResNet-50, batch 1, against torch, the same ",
        "the same framework without it: cold start 17.",
        "It pays back after 749 calls",
        "jax (jit, compiled ahead of time) on ResNet-50, batch 1, against openvino, the fastest that does not compile",
        "Its calls are not faster, so it never pays back.",
        "at 8, the largest measured, throughput still rises on torch (21.2",
        "from batch 1 on, a larger one gains next to nothing on ",
        "BERT-base, memory, batch 1: tensorflow-xla takes the most, 1.20 GiB, onnxruntime the least, 307 MiB (the ",
        "(the weights alone are 325 MiB); of the 12.0 GiB that a worker may take, 90 % is left; 24.0 GiB of memory hold",
    ],
)
def test_a_sentence_holds_its_numbers(words: str) -> None:
    text = told(make_run(noise_scale=0.0))
    assert words in text


def test_more_than_a_hundred_percent_is_explained_by_the_evidence() -> None:
    text = told(make_run(models=("bert", "resnet50"), noise_scale=0.0))
    (bert,) = [line for line in text.splitlines() if line.startswith("BERT-base, latency") and "no mistake" in line]
    assert "openvino at 104 %" in bert
    assert "oneDNN can multiply faster than NumPy's OpenBLAS" in bert
    assert "the yardstick's own samples reach up to 318 GFLOP/s" in bert
    assert "Winograd" not in bert, "there are no convolutions in it"
    (resnet,) = [line for line in text.splitlines() if line.startswith("ResNet-50, latency") and "no mistake" in line]
    assert "% of the arithmetic is in 3×3 convolutions" in resnet


def test_a_disturbed_probe_is_said() -> None:
    probe = msgspec.structs.replace(ROOFLINE, disturbed="other processes took 9.0% of the CPU time")
    text = told(make_run(models=("bert",), noise_scale=0.0, roofline=(probe,)))
    assert "Meanwhile the machine was disturbed: other processes took 9.0% of the CPU time." in text
    assert "the machine was disturbed while it was measured" in text


def test_nothing_is_said_without_evidence() -> None:
    run = make_run(models=("mlp",), scenarios=("latency",), roofline=Absent("it was not measured"))
    assert told(run) == ""
    assert "Insights" not in html.render(run, analyse(run)).replace("id=", "")


def test_the_page_has_them_with_their_numbers() -> None:
    run = make_run()
    page = html.render(run, analyse(run))
    assert '<a href="#insights">Insights</a>' in page
    for section in insights.sections(analyse(run).insights):
        assert section.title in page
        assert page.count("<li>", page.index(section.title)) >= len(section.sentences)
    assert "GFLOP/s</td>" in page
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
