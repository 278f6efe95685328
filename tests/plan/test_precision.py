"""Which precisions are measured."""

import pytest

from levelfield.errors import LevelfieldError
from levelfield.plan.arms import parse
from levelfield.plan.precision import chosen


def test_a_precision_is_measured_where_somebody_computes_in_it() -> None:
    arms = (parse("jax"), parse("onnxruntime"))
    assert chosen((), arms, "cpu") == ("fp32",)
    assert chosen(("int8", "fp32"), arms, "cpu") == ("int8", "fp32")
    with pytest.raises(LevelfieldError, match="Nobody here computes in int8 on the CPU"):
        chosen(("int8",), arms[:1], "cpu")
