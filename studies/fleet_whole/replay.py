"""Nodes that are really slowed down, among peers that are replayed records.

A run measures one arm twice, in turns, and its second one is slowed down. As the run of a peer it has the first one
alone, and as the run of the slowed node the second one alone. The slowed node has all runs that were slowed down so
much; a peer has as many, drawn from all runs without replacement. Each run and case is scaled by a factor, drawn as
`studies.fleet.draws` draws nodes and runs, and nothing else is changed. There are two kinds of fleets:

- *as measured*: nodes differ by what is drawn, and runs by what this machine did between them and within them;
- *drift taken off*: each round is scaled so that what both arms have in common, the slowdown apart, is the same in all
  rounds of all runs, and so is the canary. Nodes and runs differ by what is drawn; of both arms remains, to equal
  parts, how they scatter against each other.
"""

import math
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from studies.fleet.draws import Setting, draw
from studies.fleet_whole.record import Kind, Replay, Slowed, SlowedResult
from suite.compare.reduction import Reduced
from suite.errors import LevelfieldError
from suite.fleet.gather import gather
from suite.fleet.types import Fleet, NodeVerdict
from suite.plan import CANARY
from suite.record import files
from suite.record.schema import Case

NODES = 16
"""The slowed one is the last."""
DRAWS = 5
"""Fleets of either kind for each slowdown, each with other peers."""
ARM = "onnxruntime"
SECOND = f"{ARM}#2"
"""The same again, which is slowed down."""
SLOW_NODE = "slowed"
SETTING = Setting(nodes=NODES, cases=1)
"""With the spread of nodes and runs that the simulation has unless it is varied."""
KINDS: dict[Kind, Setting] = {
    "as measured": msgspec.structs.replace(SETTING, run_sd=0.0),
    "drift taken off": SETTING,
}
_NAMED = (NodeVerdict.SLOW, NodeVerdict.FAST, NodeVerdict.NOISY)
_Costs = list[dict[str, float]]
"""Of each record, by result: the case, or the canary."""


def replay(measured: Mapping[float, Sequence[bytes]], folder: Path, seed: int) -> Replay:
    """Judge fleets of replayed peers and one slowed node.

    Parameters
    ----------
    measured
        Amount of the slowdown, and the records that were measured with it.
    folder
        Where the fleets are written.
    seed
        Of the draws.
    """
    of_kind = {"as measured": measured, "drift taken off": without_drift(measured)}
    clean = {effect: costs(_with(ARM, contents), folder / f"first-{effect:g}") for effect, contents in measured.items()}
    slow = {effect: costs(_with(SECOND, each), folder / f"second-{effect:g}") for effect, each in measured.items()}
    fleets = [
        _judged(effect, kind, number, of_kind[kind], folder / "fleet", seed)
        for effect in measured
        for number in range(DRAWS)
        for kind in KINDS
    ]
    return Replay(
        nodes=NODES,
        runs_each=min(map(len, measured.values())),
        node_sd=SETTING.node_sd,
        run_sd=SETTING.run_sd,
        shared=SETTING.shared,
        scatter=_scatter([each for found in clean.values() for each in found]),
        paired={f"{effect:g}": _paired(clean[effect], slow[effect]) for effect in measured},
        fleets=tuple(fleets),
    )


def without_drift(measured: Mapping[float, Sequence[bytes]]) -> dict[float, list[bytes]]:
    """Return the records with their drift taken off.

    Parameters
    ----------
    measured
        As `replay` takes them; all have one case.
    """
    plain = {effect: [msgspec.json.decode(each) for each in contents] for effect, contents in measured.items()}
    rounds = [
        (round_, block["canary"], effect)
        for effect, records in plain.items()
        for record in records
        for block in record["blocks"]
        for generation in block["generations"]
        for round_ in generation["rounds"]
    ]
    levels = [_levels(*each) for each in rounds]
    both, canary = np.exp(np.mean([each for each in levels if each is not None], axis=0)).tolist()
    for (round_, name, _), of_round in zip(rounds, levels, strict=True):
        if of_round is None:
            round_["turns"] = []
            continue
        for turn in round_["turns"]:
            of_canary = turn["arm"] == name
            _scale(turn["window"], (canary if of_canary else both) / math.exp(of_round[of_canary]))
    return {effect: [msgspec.json.encode(each) for each in records] for effect, records in plain.items()}


def _levels(round_: dict[str, Any], canary: str, effect: float) -> tuple[float, float] | None:
    """Return what both arms have in common in a round, and the canary, log scale; None: one has no window."""
    medians = {
        turn["arm"]: math.log(statistics.median(turn["window"]["samples_ns"]))
        for turn in round_["turns"]
        if turn.get("window") is not None
    }
    if not {ARM, SECOND, canary} <= medians.keys():
        return None
    return (medians[ARM] + medians[SECOND] - math.log1p(effect)) / 2, medians[canary]


def _with(arm: str, contents: Sequence[bytes]) -> list[bytes]:
    return [with_arm(each, arm) for each in contents]


def _scatter(found: _Costs) -> dict[str, float]:
    return {name: float(np.std([np.log(each[name]) for each in found], ddof=1)) for name in found[0]}


def _paired(clean: _Costs, slowed: _Costs) -> dict[str, float]:
    return {
        name: float(np.exp(np.mean([np.log(slow[name] / own[name]) for own, slow in zip(clean, slowed, strict=True)])))
        for name in clean[0]
    }


def costs(contents: Sequence[bytes], folder: Path) -> _Costs:
    """Return the costs of records.

    Parameters
    ----------
    contents
        The records.
    folder
        Where they are written to be read as a fleet's are.
    """
    for number, content in enumerate(contents):
        write([content], folder / f"{number:03}")
    return [_costs(run) for (run,) in gather(folder).nodes.values()]


def _costs(run: Reduced) -> dict[str, float]:
    answers = {case: answer for (_, case), answer in run.answers.items()}
    if run.canary is not None:
        answers[CANARY] = run.canary
    return {name: answer.cost for name, answer in answers.items() if answer.cost is not None}


def write(contents: Sequence[bytes], node: Path) -> None:
    """Write the records of a node, each under its own id.

    Parameters
    ----------
    contents
        The records.
    node
        Its folder, which is made.
    """
    for content in contents:
        target = node / str(msgspec.json.decode(content)["id"])
        target.mkdir(parents=True)
        (target / files.NAME).write_bytes(content)


def _judged(
    effect: float, kind: Kind, number: int, measured: Mapping[float, Sequence[bytes]], folder: Path, seed: int
) -> Slowed:
    peers = _with(ARM, [each for contents in measured.values() for each in contents])
    for name, runs in nodes(kind, peers, _with(SECOND, measured[effect]), np.random.default_rng(seed + number)):
        write(runs, folder / name)
    found = judged(folder, effect, kind, number)
    shutil.rmtree(folder)
    return found


def nodes(
    kind: Kind, peers: Sequence[bytes], slowed: Sequence[bytes], rng: np.random.Generator
) -> Iterator[tuple[str, list[bytes]]]:
    """Yield the name of each node of a fleet, and its records.

    Parameters
    ----------
    kind
        What was done to the records.
    peers
        Records with the arm that is not slowed down, from which peers draw theirs.
    slowed
        Records with the arm that is slowed down, all of which the slowed node has.
    rng
        Draws which records peers have, and the factors.
    """
    names, runs = [*cases(slowed[0]), CANARY], len(slowed)
    factors = np.exp(draw(rng, 1, msgspec.structs.replace(KINDS[kind], cases=len(names), runs=runs)))
    for node in range(NODES):
        slow = node == NODES - 1
        drawn = slowed if slow else [peers[each] for each in rng.choice(len(peers), size=runs, replace=False)]
        yield (
            SLOW_NODE if slow else f"peer-{node + 1:02}",
            [
                scaled(
                    each,
                    f"20261125-020000-standard-{node:03x}{run:x}",
                    dict(zip(names, factors[node, run], strict=True)),
                )
                for run, each in enumerate(drawn)
            ],
        )


def with_arm(content: bytes, arm: str) -> bytes:
    """Return a record with one of both arms alone, which stands for the first one, and the canary.

    Parameters
    ----------
    content
        The record.
    arm
        `ARM` or `SECOND`.
    """
    plain: dict[str, Any] = msgspec.json.decode(content)
    for block in plain["blocks"]:
        ordinal = 1 if arm == ARM else 2
        block["arms"] = [
            each | {"ordinal": 1}
            for each in block["arms"]
            if each["backend"] != ARM or each.get("ordinal", 1) == ordinal
        ]
        for generation in block["generations"]:
            generation["launches"] = _of_arm(generation["launches"], arm, block["canary"])
            for each in generation["rounds"]:
                each["turns"] = _of_arm(each["turns"], arm, block["canary"])
    return msgspec.json.encode(plain)


def _of_arm(entries: Sequence[dict[str, Any]], arm: str, canary: str) -> list[dict[str, Any]]:
    kept = {arm: ARM, canary: canary}
    return [each | {"arm": kept[each["arm"]]} for each in entries if each["arm"] in kept]


def cases(content: bytes) -> list[str]:
    """Return the ids of a record's cases."""
    return [msgspec.convert(block["case"], Case).id for block in msgspec.json.decode(content)["blocks"]]


def scaled(content: bytes, run: str, factors: Mapping[str, float]) -> bytes:
    """Return a record under another id, with its timed windows scaled.

    Parameters
    ----------
    content
        The record.
    run
        Its new id.
    factors
        By the id of the case; that of the canary is its own in all cases.
    """
    plain: dict[str, Any] = msgspec.json.decode(content)
    plain["id"] = run
    for block, case in zip(plain["blocks"], cases(content), strict=True):
        for generation in block["generations"]:
            for turn in (turn for each in generation["rounds"] for turn in each["turns"]):
                if (window := turn.get("window")) is not None:
                    factor = factors[CANARY if turn["arm"] == block["canary"] else case]
                    _scale(window, factor)
    return msgspec.json.encode(plain)


def _scale(window: dict[str, Any], factor: float) -> None:
    window["samples_ns"] = [round(each * factor) for each in window["samples_ns"]]
    window["window_ns"] = round(window["window_ns"] * factor)


def judged(folder: Path, effect: float, kind: Kind, number: int) -> Slowed:
    """Let `levelfield fleet gather` judge a fleet.

    Parameters
    ----------
    folder
        With a folder for each node; the slowed one is `SLOW_NODE`.
    effect, kind, number
        What it was slowed down by, what was done to the records, and which draw of peers it has.

    Raises
    ------
    LevelfieldError
        It could not judge.
    """
    began = time.monotonic()
    words = ("fleet", "gather", str(folder), "--format", "json")
    done = subprocess.run([sys.executable, "-m", "suite.cli", *words], capture_output=True, check=False)
    seconds = time.monotonic() - began
    try:
        fleet = msgspec.json.decode(done.stdout, type=Fleet)
    except msgspec.MsgspecError as error:
        raise LevelfieldError(f"The fleet was not judged: {done.stderr.decode(errors='replace')[-400:]}") from error
    return of_node(fleet, effect, kind, number, seconds)


def of_node(fleet: Fleet, effect: float, kind: Kind, number: int, seconds: float) -> Slowed:
    """Return what a verdict says of the slowed node.

    Parameters
    ----------
    fleet
        The verdict.
    effect, kind, number, seconds
        As `judged` has them.
    """
    facts = {each.result: each for group in fleet.groups for each in group.results}
    node = next(each for each in fleet.nodes if each.name == SLOW_NODE)
    results = tuple(
        SlowedResult(
            result=cell.result,
            verdict=cell.verdict,
            ratio=cell.ratio.value if cell.ratio is not None else None,
            low=cell.ratio.low if cell.ratio is not None else None,
            high=cell.ratio.high if cell.ratio is not None else None,
            spread=facts[cell.result].spread,
            finds=facts[cell.result].finds,
        )
        for cell in fleet.cells
        if cell.node == SLOW_NODE
    )
    others = tuple(cell.verdict for cell in fleet.cells if cell.node != SLOW_NODE and cell.verdict in _NAMED)
    return Slowed(effect, kind, number, node.verdict, node.reason, results, others, seconds)
