"""Older runs that measured throughput one item at a time are never told to have measured throughput."""

import io

import msgspec
from rich.console import Console

from suite.analysis import analyse
from suite.record.schema import Run
from suite.report import html, sentences, terminal
from suite.share import card
from tests.records_builder import make_run


def shown(run: Run) -> dict[str, str]:
    analysis = analyse(run)
    stream = io.StringIO()
    terminal.show(run, analysis, Console(file=stream, width=160, color_system=None))
    return {
        "page": html.render(run, analysis),
        "terminal": stream.getvalue(),
        "card": card.markdown(run, analysis),
        "picture": card.svg(run, analysis),
        "verdict": sentences.verdict(analysis.timed[0]),
    }


def test_what_was_one_item_at_a_time_is_called_so() -> None:
    run = make_run(models=("bert",), scenarios=("throughput",), noise_scale=0.0)
    (block,) = run.blocks
    of_one = msgspec.structs.replace(block, case=msgspec.structs.replace(block.case, batch=1))
    old = shown(msgspec.structs.replace(run, blocks=(of_one,)))
    for place in ("page", "terminal", "card", "picture"):
        assert "one item at a time, batch 1" in old[place].lower(), place
        assert "throughput, batch" not in old[place].lower(), place
    assert sentences.ONE_BY_ONE in old["page"]
    assert sentences.ONE_BY_ONE in old["terminal"]
    assert sentences.ONE_BY_ONE in old["card"]
    assert "is fastest on BERT-base, batch 1" in old["verdict"]
    new = shown(run)
    assert not any(sentences.ONE_BY_ONE in text for text in new.values())
    assert "throughput, batch 8" in new["terminal"]
    assert "has the highest throughput" in new["verdict"]
