"""Figures that rest on what `levelfield explain tensorflow-xla/mlp --json` wrote."""

import json
from functools import cache, partial
from typing import Any

from suite.report import units
from tests.figures.checking import Figure
from tests.figures.records import TRIALS

PAGE = "docs/explain.md"
_OPERATORS = (
    "dot_add_fusion (BiasAdd)",
    "broadcast_maximum_fusion (Relu)",
    "bitcast_dot_fusion (MatMul)",
    "add_divide_fusion (Sigmoid)",
)


@cache
def _result() -> dict[str, Any]:
    (found,) = json.loads((TRIALS / "explain-2026-11-22.json").read_text(encoding="utf-8"))["results"]
    assert [each["operator"] for each in found["operators"]] == list(_OPERATORS)
    return dict(found)


def _row(name: str) -> list[object]:
    rows = _result()["operators"]
    place = next(at for at, each in enumerate(rows) if each["operator"] == name)
    total = sum(each["self_us"] for each in rows)
    so_far = sum(each["self_us"] for each in rows[: place + 1])
    own = rows[place]["self_us"]
    return [round(rows[place]["calls"]), units.digits(own), f"{100 * own / total:.1f}", f"{100 * so_far / total:.1f}"]


def _account() -> list[object]:
    """Return the account below the table, from the times it rests on."""
    account = _result()["account"]
    operators = sum(each["self_us"] for each in _result()["operators"])
    share = operators / account["plain_us"]
    assert share < 0.1  # "less than a tenth"
    return [
        f"{operators:.1f}",
        f"{100 * share:.1f}",
        units.digits(account["plain_us"]),
        account["plain_calls"],
        units.digits(account["profiled_us"] / account["plain_us"]),
        units.digits(account["profiled_us"]),
        account["profiled_calls"],
    ]


FIGURES = [
    *(Figure(PAGE, f"| {name} | {{}} | {{}} | {{}} % | {{}} % |", partial(_row, name)) for name in _OPERATORS),
    Figure(
        PAGE,
        "> Operators take {} µs of a call: {} % of the plain median ({} µs, {} calls in the same launch). Profiled, a "
        "call took {} times as long ({} µs, {} calls).",
        _account,
    ),
]
