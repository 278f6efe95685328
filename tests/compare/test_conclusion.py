"""The answer and the exit code."""

from levelfield.record.schema import Failure
from tests.compare.runs import one, run

CRASH = Failure(stage="load", kind="crashed", message="It ended with signal 9.")


def test_no_answer_is_never_a_success() -> None:
    found = one(run("a", backends=["jax"], failures={("jax", "mlp"): CRASH}), run("b", backends=["jax"]))
    assert found.exit_code == 3
    assert found.answer.startswith("Nothing could be compared")
