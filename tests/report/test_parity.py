"""Distances from the reference, in tables of arms by models, and training on the page."""

from levelfield.analysis import analyse
from levelfield.record.schema import Failure
from levelfield.report import html, parity, sentences
from tests.records_builder import make_run

RUN = make_run(models=("mlp", "resnet50"), scenarios=("latency", "training"), unequal=[("tensorflow", "resnet50")])
ANALYSIS = analyse(RUN)


def test_the_verdict_says_who_trains_fastest() -> None:
    first = next(block for block in ANALYSIS.timed if block.case.trains)
    assert sentences.verdict(first).startswith("jax trains fastest on MLP, batch 1000: ")
    assert "items/s" in sentences.verdict(first)


def test_the_page_tells_steps_memory_and_parity() -> None:
    page = html.render(RUN, ANALYSIS)
    for text in (
        "Training, batch 1000",
        "time of a step",
        "Peak memory",
        "trains fastest",
        "Training of MLP in fp32, batch 4: relative errors against the float64 reference over its first 10 steps",
        "Update rule, given gradients",
        "Gradient norms, first step",
        "float64 reference",
        "5.6700",
    ):
        assert text in page or text.replace("5.6700", "5.67") in page, text
    assert "Running statistics" not in page, "the MLP has none"


def test_trainings_stand_in_a_table_of_their_own() -> None:
    first, second = (training.errors for training in parity.trainings(ANALYSIS))
    assert (first.title.partition(",")[0], second.title.partition(",")[0]) == (
        "Training of MLP in fp32",
        "Training of ResNet-50 in fp32",
    )
    assert [line.arm for line in second.lines if line.cells[0].mark] == ["tensorflow"]
    assert [head.text for head in parity.table(RUN, ANALYSIS).heads] == ["Arm", "MLP", "ResNet-50"]
    run = make_run(models=("mlp",), scenarios=("training",))
    only = analyse(run)
    assert [head.text for head in parity.table(run, only).heads] == ["Arm"]
    assert html.render(run, only)


def test_parity_is_a_table_of_arms_by_models() -> None:
    crash = Failure(stage="load", kind="crashed", message="It ended.")
    run = make_run(failures={("jax", "mlp"): crash}, unequal=[("torch", "bert")])
    found = parity.table(run, analyse(run))
    assert [(head.text, head.small) for head in found.heads[1:]] == [
        ("MLP", "fp32"),
        ("ResNet-50", "fp32"),
        ("BERT-base", "fp32"),
    ]
    lines = {line.arm: line.cells[1:] for line in found.lines}
    assert lines["jax"][0].text == "not compared"
    assert (lines["torch"][2].mark, lines["torch"][2].tone) == ("not equal", "bad")
    assert [cell.text for cell in found.foot] == ["Tolerance", *["1.0×10⁻⁵"] * 3]
