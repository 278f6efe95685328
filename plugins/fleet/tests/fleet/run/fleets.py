"""Synthetic journals and replies of a fleet's run."""

from collections.abc import Iterable

import msgspec

from levelfield.analysis import analyse
from levelfield.paths import tool_sha256
from levelfield.plan import Selection
from levelfield.record import page
from levelfield.record.schema import Run
from levelfield.report import html
from levelfield.version import __version__
from levelfield_fleet.run.images import Expected
from levelfield_fleet.run.journal import FORMAT, Begun, Event, NodeSeen
from levelfield_fleet.run.messages import Measured
from levelfield_fleet.run.results import Asked
from levelfield_fleet.run.state import State, fold
from tests.records_builder import make_run

AT = "2026-03-01T10:00:00Z"
SEED = 700


def begun(**changes: object) -> Begun:
    return msgspec.structs.replace(
        Begun(
            format=FORMAT,
            name="night",
            at=AT,
            tool_version=__version__,
            tool_sha256=tool_sha256(),
            selection=Selection(),
            words=("--profile", "smoke"),
            launcher="docker",
            base="debian",
            identify=False,
            limit_s=540.0,
            fleet="0123456789abcdef",
            seed=SEED,
        ),
        **changes,
    )


def seen(number: int, *, ray_id: str = "", machine: str = "") -> NodeSeen:
    return NodeSeen(AT, f"node-{number:02}", ray_id or f"ray-{number}", machine or f"machine-{number}")


def state(*events: Event, nodes: int = 3) -> State:
    return fold([begun(), *map(seen, range(1, nodes + 1)), *events])


def record(**changes: object) -> Run:
    run = make_run(
        seed=SEED, models=("mlp",), backends=("onnxruntime",), scenarios=("latency",), generations=2, rounds=2
    )
    return msgspec.structs.replace(run, tool_sha256=tool_sha256(), **changes)


def measured(run: Run, **more: bytes) -> Measured:
    return Measured(run.id, {page.NAME: html.render(run, analyse(run)).encode(), **more})


def asked(**changes: object) -> Asked:
    return msgspec.structs.replace(
        Asked(node="node-01", seed=SEED, launcher="docker", tool_sha256=tool_sha256(), images=expected(record())),
        **changes,
    )


def expected(run: Run) -> dict[str, Expected]:
    return {
        f"{image.name} {image.variant}": Expected(image.lock_sha256, image.tag, image.layers) for image in run.images
    }


def lines(events: Iterable[Event]) -> bytes:
    return b"".join(msgspec.json.encode(event) + b"\n" for event in events)
