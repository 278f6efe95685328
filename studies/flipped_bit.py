"""One node of 16 has one flipped bit, and must be named with the layer in which it begins to differ.

    python -m studies.flipped_bit

Real workers compute the layers: one that is right, and one with a bit of its weights flipped in memory after their
digest was checked. The fleet is a run that is measured here, copied to 16 nodes; in the record of one node the digest
of the answer is that of the worker with the flipped bit. Three more fleets belong to each: the same with that node on
unlike hardware, where nobody may be named; one whose answer is right when it is tested again; and one without a second
test. The layer that must be named follows from the model: the submodule that holds the tensor, or what the node of the
ONNX file puts out that reads it.
"""

import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

import click
import msgspec

from studies import commands, record
from studies.fleet_gather import spread
from suite.backends import onnx_graph, registry
from suite.errors import LevelfieldError
from suite.fleet.gather import gather, verdict
from suite.fleet.types import Fleet, NodeVerdict
from suite.launchers.choice import choose
from suite.launchers.protocol import Launcher
from suite.machine.fingerprint import fingerprint
from suite.record import files, layers
from suite.record.layers import Layers
from suite.run.explain.request import ExplainRequest, parse
from suite.run.layers import trace
from suite.schedule.listener import ProgressListener
from suite.schedule.outcomes import utc_now
from suite.schedule.preparation import prepare
from suite.version import __version__
from suite.worker.messages import Fault
from suite.zoo import models

NODES = 16
BACKENDS = ("onnxruntime", "torch")
MODELS = ("mlp", "resnet50")
BITS = range(12, 31)
"""Which bits may be flipped: lower ones seldom reach the output's last bit."""
_OTHER_PROCESSOR = "Another Processor"

Outcome: TypeAlias = Literal["named", "others named", "nobody named"]
"""Whether exactly the node with the flipped bit is named."""


class Flip(msgspec.Struct, frozen=True):
    """One flipped bit, and what was said of its fleets."""

    backend: str
    model: str
    tensor: str
    element: int
    bit: int
    expected: str
    """Layer that reads the tensor."""
    masked: bool
    """The output is the same to the last bit, so that there is nothing to be found; no fleet was judged."""
    verdict: Outcome = "nobody named"
    layer: str = ""
    """That was named."""
    wrong_again: int = 0
    tested_again: int = 0
    unlike_hardware: Outcome = "nobody named"
    transient_named: bool = False
    """Where the second test agrees with the peers: the node is still named."""
    transient_said: str = ""
    untested: Outcome = "nobody named"
    """Without a second test."""


class Record(record.MachineRecord, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "fleet-flipped-bit"

    finished: str
    seed: int
    nodes: int
    source: str
    """Run that was copied to the nodes."""
    flips: tuple[Flip, ...]

    @property
    def judged(self) -> tuple[Flip, ...]:
        """Those that changed an output."""
        return tuple(each for each in self.flips if not each.masked)

    @property
    def right(self) -> int:
        """How many were named, alone, with the right layer."""
        return sum(each.verdict == "named" and each.layer == each.expected for each in self.judged)


def bench(folder: Path) -> Path:
    """Measure the run that is copied to the nodes; return its record.

    Parameters
    ----------
    folder
        For its report.

    Raises
    ------
    LevelfieldError
        There is no run.
    """
    words = ("--profile", "smoke", "--scenarios", "latency", "--control", "none", "--budget", "20s")
    asked = ("--models", ",".join(MODELS), "--backends", ",".join(BACKENDS), "--reports", str(folder))
    subprocess.run([sys.executable, "-m", "suite.cli", "bench", *words, *asked], check=False, capture_output=True)
    found = files.runs_in(folder)
    if not found:
        raise LevelfieldError("The run that is copied to the nodes could not be measured.", fix="Try levelfield bench.")
    return found[0] / files.NAME


def tensors(request: ExplainRequest, launcher: Launcher, listener: ProgressListener) -> dict[str, tuple[str, int]]:
    """Return the tensors of a model, each with the layer that reads it and its number of elements.

    Parameters
    ----------
    request
        The result.
    launcher, listener
        As `suite.schedule.preparation.prepare` takes them.
    """
    model = models.get(request.case.model)
    counts = {each.name: each.count for each in model.parameters}
    if registry.get(request.arm.backend).reads != "onnx":
        return {name: (name.rpartition(".")[0], count) for name, count in counts.items()}
    resources = prepare(request.plan, launcher, listener, judged=False)
    file = resources.file_of(request.case, request.arm)
    if file is None:
        raise ValueError(f"{request.arm.id} reads no file.")
    content = memoryview((resources.artifacts.root / file.path).read_bytes())
    found: dict[str, tuple[str, int]] = {}
    for _, inputs, outputs in onnx_graph.nodes(content):
        for name in inputs:
            if name in counts and name not in found:
                found[name] = outputs[0], counts[name]
    return found


def judge(
    source: bytes, wrong: int, peer: int, digests: tuple[str, str], tests: tuple[Layers, Layers] | None, unlike: bool
) -> Fleet:
    """Judge a fleet of copies of a run.

    Parameters
    ----------
    source
        The run's record.
    wrong, peer
        Numbers of the node that computes wrongly, and of the peer that is tested too.
    digests
        Of the right answer and of the wrong one.
    tests
        Layers of the wrong node and of the peer; None: there was no second test.
    unlike
        Whether the wrong node has another processor.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spread(source, folder, NODES, 1)
        node, other = (folder / f"node-{each:04}" for each in (wrong, peer))
        (file,) = node.glob(f"*/{files.NAME}")
        content = file.read_bytes().replace(digests[0].encode(), digests[1].encode())
        if unlike:
            plain = msgspec.json.decode(content)
            plain["machine"]["cpu"]["model"] = _OTHER_PROCESSOR
            content = msgspec.json.encode(plain)
        file.write_bytes(content)
        if tests is not None:
            layers.write(tests[0], node / "layers.json")
            layers.write(tests[1], other / "layers.json")
        return verdict(gather(folder), margin=0.02, level=0.01)


def outcome(found: Fleet, wrong: int) -> Outcome:
    """Say who is named.

    Parameters
    ----------
    found
        The verdict.
    wrong
        Number of the node that computes wrongly.
    """
    named = [node.name for node in found.nodes if node.verdict is NodeVerdict.WRONG]
    return "nobody named" if not named else "named" if named == [f"node-{wrong:04}"] else "others named"


def tried(source: bytes, right: Layers, faulty: Layers, flip: Flip, random_: random.Random) -> Flip:
    """Judge the fleets of one flipped bit.

    Parameters
    ----------
    source
        The run's record.
    right, faulty
        Layers of a worker that is right, and of one with the flipped bit.
    flip
        The flip.
    random_
        Draws which node has it.
    """
    answers = right.launches[0].output_sha256, faulty.launches[0].output_sha256
    if answers[0] == answers[1]:
        return msgspec.structs.replace(flip, masked=True)
    wrong, peer = random_.sample(range(NODES), 2)
    found = judge(source, wrong, peer, answers, (faulty, right), unlike=False)
    transient = judge(source, wrong, peer, answers, (right, right), unlike=False)
    (one,) = found.wrong or (None,)
    (passing,) = transient.wrong or (None,)
    return msgspec.structs.replace(
        flip,
        verdict=outcome(found, wrong),
        layer=one.layer if one is not None else "",
        wrong_again=one.wrong_again if one is not None else 0,
        tested_again=one.tested_again if one is not None else 0,
        unlike_hardware=outcome(judge(source, wrong, peer, answers, (faulty, right), unlike=True), wrong),
        transient_named=outcome(transient, wrong) == "named",
        transient_said=passing.reason if passing is not None else "",
        untested=outcome(judge(source, wrong, peer, answers, None, unlike=False), wrong),
    )


def markdown(made: Record) -> str:
    """Return the findings as a table."""
    rows = "".join(
        f"| {each.backend}/{each.model} | {each.tensor}[{each.element}], bit {each.bit} | {each.expected} | "
        + (
            "output unchanged | |\n"
            if each.masked
            else f"{each.verdict}, {each.layer or 'no layer'}, wrong again {each.wrong_again} of {each.tested_again} | "
            f"{each.unlike_hardware} |\n"
        )
        for each in made.flips
    )
    judged = made.judged
    return (
        "# One node of 16 with one flipped bit\n\n"
        f"A bit of the weights was flipped in a real worker {len(made.flips)} times; {len(made.flips) - len(judged)} "
        f"of them left the output the same to the last bit. Of the other {len(judged)}, the node was named alone and "
        f"with the right layer in {made.right}. On unlike hardware somebody was named in "
        f"{sum(each.unlike_hardware != 'nobody named' for each in judged)}. Where the second test was right, the node "
        f"was still named in {sum(each.transient_named for each in judged)}.\n\n"
        "| result | flipped | layer that reads it | verdict, layer, second test | on unlike hardware |\n"
        f"|---|---|---|---|---|\n{rows}"
    )


@click.command(context_settings=commands.SETTINGS)
@click.option("--flips", type=click.IntRange(1), default=6, show_default=True, help="Of each backend and model.")
@click.option("--seed", type=click.IntRange(0), default=20_261_125, show_default=True, help="Draws bits and nodes.")
@commands.out_option
def main(flips: int, seed: int, out: Path | None) -> None:
    """Flip bits in real workers, and count which are named in a fleet of 16: some minutes, on any machine."""
    started, random_ = utc_now(), random.Random(seed)  # noqa: S311  (draws a trial)
    launcher, _ = choose(None, base="debian")
    made: list[Flip] = []
    with commands.terminal() as listener, tempfile.TemporaryDirectory() as name:
        listener.say("Measuring the run that is copied.")
        source = bench(Path(name)).read_bytes()
        for backend, model in ((backend, model) for backend in BACKENDS for model in MODELS):
            request = parse(f"{backend}/{model}/latency")
            known = tensors(request, launcher, listener)
            right = trace(request, launcher, listener)
            if right.launches[0].output_sha256.encode() not in source:
                raise LevelfieldError(f"{request.id} has another output than the run that is copied.")
            for _ in range(flips):
                tensor = random_.choice(sorted(known))
                expected, count = known[tensor]
                fault = Fault(tensor, random_.randrange(count), random_.choice(BITS))
                faulty = trace(request, launcher, listener, fault=fault)
                flip = Flip(backend, model, fault.tensor, fault.element, fault.bit, expected, masked=False)
                made.append(tried(source, right, faulty, flip, random_))
        found = Record(
            schema=Record.SCHEMA,
            started=started,
            finished=utc_now(),
            tool_version=__version__,
            machine=fingerprint(()),
            seed=seed,
            nodes=NODES,
            source=msgspec.json.decode(source)["id"],
            flips=tuple(made),
        )
        path = out or commands.default_path(Record.TRIAL)
        record.write(found, path)
        path.with_suffix(".md").write_text(markdown(found), encoding="utf-8")
        listener.show(markdown(found), path)


if __name__ == "__main__":
    main()
