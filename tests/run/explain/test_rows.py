"""A profile as a table, JSON and CSV: the same columns for all, and nothing in it that speaks to a terminal."""

import pytest

from levelfield.backends.profiling.operators import Operator
from levelfield.run.explain.rows import account, rows
from levelfield.run.explain.show import sentence
from tests.run.explain.profiles import profiled


def test_kinds_are_summed() -> None:
    conv, relu = rows(profiled(), by_layer=False)
    assert (conv.operator, conv.layer, conv.calls) == ("Conv", "", 2)
    assert [conv.self_us, conv.share, conv.cumulative] == pytest.approx([9000, 0.9, 0.9])
    assert (relu.operator, relu.calls) == ("Relu", 2)
    assert relu.cumulative == pytest.approx(1.0)


def test_layers_stand_alone() -> None:
    found = rows(profiled(), by_layer=True)
    assert [row.layer for row in found] == ["stem", "head", "relu"]
    assert [row.self_us for row in found] == [6000, 3000, 1000]
    assert [row.cumulative for row in found] == pytest.approx([0.6, 0.9, 1.0])


def test_the_account_is_of_medians() -> None:
    said = account(profiled())
    assert (said.plain_us, said.profiled_us, said.operators_us) == (10_000, 13_000, 10_000)
    assert (said.plain_calls, said.profiled_calls) == (3, 4)
    assert [said.slowdown, said.accounted] == pytest.approx([1.3, 1.0])
    assert sentence(said) == (
        "Operators take 10 000 µs of a call: 100.0 % of the plain median (10 000 µs, 3 calls in the same launch). "
        "Profiled, a call took 1.30 times as long (13 000 µs, 4 calls)."
    )


def test_operators_without_time_make_no_share() -> None:
    (row,) = rows(profiled(Operator("Nop", "", 4, 0.0)), by_layer=False)
    assert (row.share, row.cumulative) == (0.0, 0.0)
