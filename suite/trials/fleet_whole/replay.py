"""Nodes that are really slowed down, among peers that are replayed records.

A run measures one arm twice, in turns, and its second one is slowed down. As the run of a peer it has the first one
alone, and as the run of the slowed node the second one alone. The slowed node has all runs that were slowed down so
much; a peer has as many, drawn from all runs without replacement. Each run and case is scaled by a factor, drawn as
`suite.trials.fleet.draws` draws nodes and runs, and nothing else is changed. There are two kinds of fleets:

- *as measured*: nodes differ by what is drawn, and runs by what this machine did between them;
- *drift taken off*: each run is scaled so that its first arm, which is not slowed down, and its canary have one level
  in all runs. Nodes and runs differ by what is drawn; of the slowed arm remains how it scatters against the first.
"""

import itertools
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from suite.compare.reduction import Reduced
from suite.errors import LevelfieldError
from suite.fleet.gather import gather
from suite.fleet.types import Fleet, NodeVerdict
from suite.plan import CANARY
from suite.record import files
from suite.record.schema import Case
from suite.trials.fleet.draws import Setting, draw
from suite.trials.fleet_whole.record import Kind, Replay, Slowed, SlowedResult

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


class Runs(NamedTuple):
    """Records that nodes replay."""

    contents: Sequence[bytes]
    clean: _Costs
    """Of the arm that is not slowed down in the same runs, and of the canary."""


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
    every = [each for contents in measured.values() for each in contents]
    first = [with_arm(each, ARM) for each in every]
    clean = costs(first, folder / "first")
    own = dict(zip(measured, _split(clean, list(map(len, measured.values()))), strict=True))
    second = {effect: [with_arm(each, SECOND) for each in contents] for effect, contents in measured.items()}
    slowed = {effect: costs(contents, folder / f"second-{effect:g}") for effect, contents in second.items()}
    fleets = [
        each
        for effect in measured
        for each in _fleets(effect, Runs(first, clean), Runs(second[effect], own[effect]), folder, seed)
    ]
    return Replay(
        nodes=NODES,
        runs_each=min(map(len, measured.values())),
        node_sd=SETTING.node_sd,
        run_sd=SETTING.run_sd,
        shared=SETTING.shared,
        scatter=_scatter(clean),
        paired={f"{effect:g}": _paired(own[effect], each) for effect, each in slowed.items()},
        fleets=tuple(fleets),
    )


def _split(found: _Costs, counts: Sequence[int]) -> Iterator[_Costs]:
    ends = list(itertools.accumulate(counts))
    return (found[end - count : end] for end, count in zip(ends, counts, strict=True))


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


def _fleets(effect: float, peers: Runs, slowed: Runs, folder: Path, seed: int) -> Iterator[Slowed]:
    for number in range(DRAWS):
        for kind in KINDS:
            fleet = folder / "fleet"
            for name, runs in nodes(kind, peers, slowed, np.random.default_rng(seed + number)):
                write(runs, fleet / name)
            yield judged(fleet, effect, kind, number)
            shutil.rmtree(fleet)


def nodes(kind: Kind, peers: Runs, slowed: Runs, rng: np.random.Generator) -> Iterator[tuple[str, list[bytes]]]:
    """Yield the name of each node of a fleet, and its records.

    Parameters
    ----------
    kind
        What is done to the records.
    peers
        Records with the arm that is not slowed down, from which peers draw theirs.
    slowed
        Records with the arm that is slowed down, all of which the slowed node has.
    rng
        Draws which records peers have, and the factors.
    """
    names, runs = list(peers.clean[0]), len(slowed.contents)
    setting = msgspec.structs.replace(KINDS[kind], cases=len(names), runs=runs)
    factors = np.exp(draw(rng, 1, setting))
    levels = {name: float(np.exp(np.mean([np.log(each[name]) for each in peers.clean]))) for name in names}
    for node in range(NODES):
        slow = node == NODES - 1
        source = slowed if slow else peers
        drawn = range(runs) if slow else rng.choice(len(source.contents), size=runs, replace=False).tolist()
        made = []
        for run, which in enumerate(drawn):
            of_run = dict(zip(names, factors[node, run].tolist(), strict=True))
            if kind == "drift taken off":
                of_run = {name: factor * levels[name] / source.clean[which][name] for name, factor in of_run.items()}
            made.append(scaled(source.contents[which], f"20261125-020000-standard-{node:03x}{run:x}", of_run))
        yield SLOW_NODE if slow else f"peer-{node + 1:02}", made


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
                    window["samples_ns"] = [round(each * factor) for each in window["samples_ns"]]
                    window["window_ns"] = round(window["window_ns"] * factor)
    return msgspec.json.encode(plain)


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
