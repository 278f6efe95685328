"""What is trained to a target accuracy is named what it is, wherever a reader meets it."""

import io
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from suite.analysis import analyse
from suite.compare.comparison import compare_runs
from suite.compare.formats import markdown
from suite.compare.formats import terminal as compared
from suite.compare.reduction import reduce
from suite.record.schema import Run
from suite.report import html, names, terminal
from suite.share import card
from suite.share.site import listing
from suite.zoo import models
from suite.zoo.resnet50 import spec
from suite.zoo.training import convergence
from tests.compare.runs import only
from tests.records_builder import make_run


def trained(seed: int) -> Run:
    run = make_run(seed=seed, models=("mlp", "resnet50"), backends=("jax", "torch"), scenarios=("convergence",))
    settings = msgspec.structs.replace(run.settings, batches={})  # as in a run without throughput
    return msgspec.structs.replace(run, id=f"run {seed}", settings=settings)


RUN = trained(1)


def shown() -> dict[str, str]:
    """Every text that is made of a run to a target accuracy."""
    analysis = analyse(RUN)
    stream = io.StringIO()
    terminal.show(RUN, analysis, Console(file=stream, width=160, color_system=None))
    comparison = compare_runs([reduce(RUN, "")], [reduce(trained(2), "")])
    return {
        "page": html.render(RUN, analysis),
        "terminal": stream.getvalue(),
        "card": card.markdown(RUN, analysis),
        "comparison in Markdown": markdown.write(comparison),
        "comparison in the terminal": compared.plain(comparison),
        "site": " ".join(listing._entry(RUN, analysis, Path("folder")).models),
    }


@pytest.mark.parametrize("place", list(shown()))
def test_a_network_of_two_bottlenecks_is_no_resnet_50(place: str) -> None:
    text = shown()[place].replace("\u2011", "-").replace("\n", " ")
    assert "ResNet-50" not in text
    assert "two-bottleneck ResNet" in text


def test_the_name_says_what_the_network_is() -> None:
    block = only(each for each in RUN.blocks if each.case.model == "resnet50")
    assert convergence.goal("resnet50").network == spec.DIGITS.name
    assert len(spec.SMALL.all_blocks()) == 2
    assert names.network(block.case) == "two-bottleneck ResNet"
    for model in models.names():
        if model in convergence.GOALS:
            assert names.question(f"{model} convergence").startswith(("small MLP", "two-bottleneck"))
    assert names.question("resnet50 training in 2 processes") == "ResNet-50, training in 2 processes"
    assert names.question("resnet50") == "ResNet-50"
