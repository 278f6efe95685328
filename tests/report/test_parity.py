"""The table of errors against the reference."""

from levelfield.analysis import analyse
from levelfield.record.schema import Failure
from levelfield.report import parity
from tests.records_builder import make_run


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
