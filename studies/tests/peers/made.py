"""A record of the trial with known answers."""

from studies.overhead.findings import find
from studies.overhead.record import Cell, Generation, Round, Window
from studies.peers.cells import BARE, CELLS, WORKER
from studies.peers.record import Decision, Disk, Trial
from suite.record.schema import Case

RATIO = {"torch.utils.benchmark": 1.0, "pyperf": 1.02, "benchmark_app": 0.98, "optimum-benchmark": 1.5}
DRIFT = (1.0, 1.1, 0.9, 1.0, 1.05, 0.95)
"""Of the machine between launches: in a ratio it cancels."""


def cell(tool: str, launches: int = 6) -> Cell:
    spec = next(each for each in CELLS if each.tool == tool)
    contrasts = spec.contrasts()
    arms = tuple(dict.fromkeys(name for each in contrasts for name in (each.first, each.second)))
    share = 0.5 if tool == "optimum-benchmark" else None
    factor = {tool: RATIO[tool], WORKER: 1.001, BARE: 1.0}
    generations = tuple(
        Generation(
            (Round(tuple(Window(arm, 1e8 * drift * factor[arm], 9, share if arm == tool else None) for arm in arms)),)
        )
        for drift in DRIFT[:launches]
    )
    case = Case("bert", "latency", "fp32", 1, 2)
    return Cell(spec.backend, case, arms, generations, tuple(find(each, generations, arms) for each in contrasts))


def decision(tool: str, truth: str, answer: str, seconds: float, ratio: float | None = 1.01) -> Decision:
    return Decision(
        tool=tool,
        truth="same" if truth == "same" else "slower",
        answer=answer,
        different=answer in ("slower", "faster"),
        found=answer == "slower",
        ratio=ratio,
        seconds=seconds,
        supervisor_share=0.01,
    )


TRIAL = Trial(
    schema=1,
    started="2026-01-01T00:00:00Z",
    finished="2026-01-01T00:20:00Z",
    tool_version="0",
    seed=1,
    settings={"model": "bert"},
    versions={"pyperf": "2.11.0"},
    machine={},
    images=(),
    artifacts=(),
    load_before=(0.0, 0.0, 0.0),
    load_after=(0.0, 0.0, 0.0),
    cells=tuple(map(cell, RATIO)),
    decisions=(
        decision("pyperf compare_to", "same", "slower", 80.0),
        decision("pyperf compare_to", "same", "not significant", 90.0),
        decision("pyperf compare_to", "slower", "slower", 85.0),
        decision("levelfield ab", "same", "same", 200.0, 0.998),
        decision("levelfield ab", "slower", "inconclusive", 100.0, None),
    ),
    disk=(Disk("pyperf", "its wheels and what they need", 1_200_000, 2),),
    failures=("pyperf ended with code 1.",),
)
