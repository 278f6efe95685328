"""Verdicts on fleets that every format is tested with, and folders of records."""

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from levelfield.analysis.summary import RunFacts
from levelfield.analysis.types import Estimate
from levelfield.record import files
from levelfield.record.schema import Case, Run
from levelfield.scenarios import ScenarioName
from levelfield_fleet.types import Cell, Difference, Fleet, Group, Node, NodeVerdict, ResultFacts, WrongAnswer
from levelfield_fleet.words import OUTCOMES
from tests.compare.runs import run
from tests.report.hostile import PAYLOAD

SCENARIOS: tuple[ScenarioName, ...] = ("latency", "throughput", "memory", "cold-start")
DRIVER = Difference("gpu", "driver", "580.95", "570.12", 0.875)


def facts(number: int, text: str = "") -> ResultFacts:
    case = Case(f"model-{number}{text}", SCENARIOS[number % len(SCENARIOS)], "fp32", 1, 2)
    arm = f"onnxruntime{text}"
    return ResultFacts(f"{arm}/{case.id}", arm, case, 8, centre=2.1e7, spread=0.004, finds=1.031)


def large(nodes: int, cases: int, text: str = "") -> Fleet:
    """A fleet with every verdict: one node in twenty is not fine, and the same one of each of its cases."""
    results = tuple(facts(number, text) for number in range(cases))
    cells: list[Cell] = []
    made: list[Node] = []
    verdicts = list(NodeVerdict)
    for number in range(nodes):
        verdict = verdicts[number % len(verdicts)] if number < max(nodes // 20, len(verdicts)) else NodeVerdict.FINE
        name = f"node-{number:04}{text}"
        for place, result in enumerate(results):
            slow = {NodeVerdict.SLOW: 1.12, NodeVerdict.FAST: 0.95}.get(verdict, 1.001)
            own = verdict if place == number % cases else NodeVerdict.FINE
            value = slow if own is verdict else 0.998
            absent = own in (NodeVerdict.FAILED, NodeVerdict.UNDECIDED)
            ratio = None if absent else Estimate(value, 0.98 * value, 1.02 * value)
            reason = f"3.1 times the scatter of its peers{text}" if own is NodeVerdict.NOISY else ""
            cells.append(Cell(name, result.result, own, reason, 2.1e7, ratio, 5, 0.0123))
        made.append(
            Node(
                name,
                "0a1b2c",
                verdict,
                OUTCOMES[verdict],
                f"{verdict.value} in 1 of {cases} cases{text}" if verdict is not NodeVerdict.FINE else "",
                (RunFacts(f"run-{number}", "2026-11-25T02:00:00Z", "2026-11-25T02:09:00Z", f"{number:064x}"),) * 5,
                (DRIVER,) if verdict is NodeVerdict.DIFFERENT else (),
                f"node-{number:04}/report.html",
            )
        )
    order = list(NodeVerdict)
    made.sort(key=lambda node: order.index(node.verdict))
    wrong = WrongAnswer(made[0].name, "onnxruntime", "model-1/fp32/b1/t2/cpu", "c" * 64, "d" * 64, 7, 7)
    return Fleet(
        answer=f"3 of {nodes} nodes are slow, wrong or failed, most of all {made[0].name}.",
        exit_code=1,
        nodes=tuple(made),
        groups=(Group("0a1b2c", f"AMD EPYC, 64 cores, 512 GiB{text}", tuple(node.name for node in made), results),),
        cells=tuple(cells),
        wrong=(wrong,),
        notes=(f"node-9999 has no record.{text}",),
        method="Each node against its peers.",
    )


@cache
def fleet() -> Fleet:
    """Eight nodes, one of each verdict, in four cases."""
    return large(8, 4)


@cache
def fine() -> Fleet:
    """The nodes of `fleet` that are fine, and nothing else."""
    nodes = tuple(node for node in fleet().nodes if node.verdict is NodeVerdict.FINE)
    return msgspec.structs.replace(
        fleet(), answer="All nodes are fine.", exit_code=0, nodes=nodes, cells=(), wrong=(), notes=(), groups=()
    )


@cache
def hostile() -> Fleet:
    """A fleet whose every text tries to become more than text."""
    made = large(8, 4, f"{PAYLOAD}\x1b]0;x\x07\u202e\n")
    nodes = tuple(
        msgspec.structs.replace(
            node,
            differences=(Difference(f"gpu{PAYLOAD}", f"driver{PAYLOAD}", f"1{PAYLOAD}", f"2{PAYLOAD}", 0.9),),
            report=f"javascript:owned=1/{PAYLOAD}/report.html",
        )
        for node in made.nodes
    )
    return msgspec.structs.replace(made, nodes=nodes)


def small(name: str, seed: int = 1, **options: Any) -> Run:
    return run(name, seed, **{"backends": ["onnxruntime"], "max_calls": 5} | options)


def place(record: Run, folder: Path) -> Path:
    folder.mkdir(parents=True)
    files.write(record, folder)
    return folder


def fill(folder: Path, nodes: int, runs: int = 1, *, first: int = 1, **options: Any) -> Path:
    """Write records of so many nodes, several runs a node in folders of their own."""
    for number in range(nodes):
        name = f"node-{number}"
        for index in range(runs):
            own = folder / name if runs == 1 else folder / name / f"run-{index}"
            place(small(f"{name}-{index + first}", 100 * number + index + first, **options), own)
    return folder
