"""Cells of the overhead trial with a known ratio."""

from levelfield.record.schema import Case
from studies.harness.findings import find
from studies.harness.record import Cell, Finding, Generation, Interval, Round, Trial, Verdict, Window
from studies.harness.tools import TOOLS


def cell(*verdicts: Verdict, failure: str = "") -> Cell:
    contrast = TOOLS[0].contrasts("resnet50")[0]
    one = Interval(1.0, None, None)
    findings = tuple(Finding(contrast, 2, 1.0, 1.0, one, one, one, verdict) for verdict in verdicts)
    case = Case("resnet50", "latency", "fp32", 1, 2)
    return Cell("jax", case, ("worker", "bare loop"), (), findings, failure=failure)


def bare_loops(backend: str, ratio: float = 1.002) -> Cell:
    """Return a cell of BERT whose loops and processes are this far apart."""
    arms = ("worker", "bare loop", "worker's loop")
    taken = tuple(
        Generation(
            (
                *(
                    Round((Window("worker's loop", 1e8 * ratio * drift, 3), Window("bare loop", 1e8 * drift, 3)))
                    for drift in (1.0, 1.2, 0.9, 1.1)
                ),
                Round((Window("worker", 1e8 * ratio, 3), Window("bare loop", 1e8, 3))),
            )
        )
        for _ in range(6)
    )
    findings = tuple(find(each, taken, arms) for each in TOOLS[0].contrasts("bert"))
    return Cell(backend, Case("bert", "latency", "fp32", 1, 2), arms, taken, findings)


EMPTY = Trial(
    schema=2,
    started="2026-01-01T00:00:00Z",
    finished="2026-01-01T00:00:01Z",
    tool_version="0",
    seed=1,
    settings={},
    machine={},
    images=(),
    artifacts=(),
    load_before=(0.0, 0.0, 0.0),
    load_after=(0.0, 0.0, 0.0),
    cells=(),
)
