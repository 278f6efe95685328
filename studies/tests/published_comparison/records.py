"""Records of the folklore trial with known times."""

import numpy as np

from studies.harness.findings import Generation, Round, Window
from studies.published_comparison.findings import rows
from studies.published_comparison.record import BATCH, FRAMEWORKS, AnswerCheck, Folklore
from tests.records_builder import make_machine

TIMES_MS = {
    "torch, as published": 1.2,
    "torch, without gradients": 1.0,
    "torch, fairly": 0.5,
    "tensorflow, as published": 2.0,
    "tensorflow, fairly": 0.65,
    "tensorflow, with predict": 30.0,
    "jax, as published": 3.0,
    "jax, waited for": 3.3,
    "jax, weights made before": 1.1,
    "jax, fairly": 0.47,
    "onnxruntime, as published": 14.0,
    "onnxruntime, fairly": 0.3,
    "openvino, as published": 140.0,
    "openvino, one request": 20.0,
    "openvino, fairly": 0.2,
}


def measured(launches: int, seed: int = 1) -> list[Generation]:
    """Windows with one per cent of noise."""
    rng = np.random.default_rng(seed)
    return [
        Generation(
            tuple(
                Round(
                    tuple(Window(arm, 1e6 * ms * float(np.exp(rng.normal(0, 0.01))), 5) for arm, ms in TIMES_MS.items())
                )
                for _ in range(3)
            )
        )
        for _ in range(launches)
    ]


EQUAL = tuple(AnswerCheck(arm, True, 3e-7, "") for arm in TIMES_MS)
"""As if every form answered as the reference does."""


def record(launches: int = 6) -> Folklore:
    generations = measured(launches)
    unlike = (
        AnswerCheck(
            "jax, as published", None, None, "it makes weights of its own in the call, so it answers for no model"
        ),
        AnswerCheck("openvino, as published", False, 4e-3, "relative error 4.0e-03 is over 1e-05"),
    )
    said = tuple({each.arm: each for each in (*EQUAL, *unlike)}.values())
    return Folklore(
        schema=Folklore.SCHEMA,
        started="2026-11-21T10:00:00Z",
        finished="2026-11-21T10:05:00Z",
        tool_version="0",
        seed=1,
        batch=BATCH,
        threads=2,
        cpus=(0, 1),
        settings={},
        machine=make_machine(),
        images=(),
        artifacts=(),
        load_before=(0.0, 0.0, 0.0),
        load_after=(0.0, 0.0, 0.0),
        forms=tuple(form for framework in FRAMEWORKS for form in framework.forms),
        said=said,
        generations=tuple(generations),
        rows=rows(FRAMEWORKS, generations, said),
    )
