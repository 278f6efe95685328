"""Comparisons that every format is tested with."""

from functools import cache
from typing import Any

import msgspec

from levelfield.compare.comparison import compare_runs
from levelfield.compare.types import Comparison
from levelfield.record.schema import Failure
from tests.compare.runs import reduced, run, side, with_machine, with_parity
from tests.report.hostile import PAYLOAD, make_hostile


@cache
def upgrade() -> Comparison:
    """One of everything: slower, undecided, failed, moved, changed."""
    options: dict[str, Any] = {
        "backends": ["jax", "onnxruntime", "torch", "openvino"],
        "scenarios": ["latency", "memory"],
    }
    crash = Failure(stage="load", kind="crashed", message="It ended with signal 9.")
    new = [
        with_machine(
            run(f"b-{seed}", seed, slower={"onnxruntime": 1.4}, failures={("jax", "mlp"): crash}, **options),
            kernel={"release": "6.2"},
        )
        for seed in range(10, 14)
    ]
    new = [
        with_parity(each, "torch", lambda parity: msgspec.structs.replace(parity, output_sha256="0" * 64))
        for each in new
    ]
    return compare_runs(side("a", 4, **options), [reduced(each) for each in new])


@cache
def hostile() -> Comparison:
    old = make_hostile(variants=False)
    new = msgspec.structs.replace(make_hostile(variants=False), id=f"other{PAYLOAD}")
    new = with_machine(new, **{f"kernel{PAYLOAD}": {f"release{PAYLOAD}": f"{PAYLOAD}2"}})
    return compare_runs([reduced(old)], [reduced(new)])
