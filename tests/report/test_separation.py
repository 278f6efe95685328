"""Every output names the relation of an arm to the best by the same words."""

import io
import re

import msgspec
from rich.console import Console

from suite.analysis import analyse
from suite.analysis.types import Estimate
from suite.report import html, sentences, separation, terminal
from suite.report.export.columns import COLUMNS
from suite.report.export.tables import rows
from suite.report.export.writing import write_csv
from suite.share import card
from suite.statistics.verdicts import Verdict
from tests.records_builder import make_run


def test_every_output_says_the_same_words() -> None:
    run = make_run(models=("resnet50",), slower={"onnxruntime": 21.3 / 21.9 * 1.01}, scenarios=("latency", "training"))
    analysis = analyse(run)
    console = Console(file=io.StringIO(), width=160)
    terminal.show(run, analysis, console)
    assert isinstance(console.file, io.StringIO)
    stream = io.StringIO()
    write_csv(stream, COLUMNS["results"], rows("results", run, analysis))
    outputs = {
        "terminal": console.file.getvalue(),
        "page": html.render(run, analysis).partition("<script")[0].replace("\u2060", ""),
        "Markdown": card.markdown(run, analysis),
        "picture": card.svg(run, analysis),
        "CSV": stream.getvalue(),
    }
    for name, text in outputs.items():
        words = re.sub(r"\s+", " ", text)
        assert "not separated" in words, name
        assert not re.search(r"\b(ties?|tied|told apart|certainly)\b|&gt;0|\(>0", words), name
        assert "edian (95" not in words, name
        assert "median call" not in words.replace("canary’s median call", ""), name
        if name != "picture":
            assert "faster" in words, name
            assert "geometric mean" in words.lower(), name
        if name not in ("picture", "CSV"):
            assert "in these minutes" in words, name


def test_an_arm_that_is_not_shown_to_be_slower_before_one_that_is_has_a_sentence() -> None:
    (block,) = analyse(make_run(models=("mlp",), scenarios=("latency",))).timed
    assert separation.crossed(block) is None
    assert sentences.crossed(block) == ""
    second, third = block.rows[1:3]
    wide = msgspec.structs.replace(second, rank=1, verdict=Verdict.INCONCLUSIVE, ratio=Estimate(1.25, 0.98, 1.6))
    slower = msgspec.structs.replace(third, rank=2, verdict=Verdict.SLOWER, ratio=Estimate(1.11, 1.05, 1.18))
    odd = msgspec.structs.replace(block, rows=(block.rows[0], wide, slower))
    assert separation.crossed(odd) == (wide, slower)
    assert sentences.crossed(odd) == (
        f"{wide.arm} (+25\u00a0%) is not shown to be slower, {slower.arm} (+11\u00a0%) is: the launches of {wide.arm} "
        "differ more, which widens its interval."
    )
