"""The table of errors against the reference."""

from levelfield.analysis import analyse
from levelfield.record.schema import Failure
from levelfield.report import parity
from tests.records_builder import make_run


def test_parity_is_a_table_of_arms_by_models() -> None:
    crash = Failure(stage="load", kind="crashed", message="It ended.")
    run = make_run(failures={("jax", "mlp"): crash}, unequal=[("torch", "bert")])
    found = parity.table(analyse(run))
    assert found.columns == (("mlp", "fp32"), ("resnet50", "fp32"), ("bert", "fp32"))
    lines = {line.arm: line.parities for line in found.lines}
    assert lines["jax"][0] is None
    assert lines["torch"][2] is not None
    assert not lines["torch"][2].equal
    assert found.tolerances == (1e-5, 1e-5, 1e-5)
