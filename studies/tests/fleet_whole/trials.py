"""Facts of a trial of a whole fleet in which everything holds."""

import msgspec

from studies.fleet_whole.record import Arrived, Killed, Record, Replay, Slowed, SlowedResult, Whole
from suite.fleet.types import NodeVerdict

RESULT = "onnxruntime/mobilenet/latency/fp32/b1/t1/cpu"
WHOLE = Whole(nodes=3, records=3, answers=1, exit_code=3, answer="Of 3 nodes: 3 not decided (…).", left=0, seconds=40.0)
KILLED = Killed(
    what="node",
    processes=6,
    rounds=4,
    kept=8,
    lost=0,
    again=1,
    left=0,
    ended_s=0.25,
    resumed=True,
    others=2,
    undisturbed=2,
    untouched=True,
    records=3,
    exit_code=3,
    seconds=42.0,
)


def slowed(effect: float, verdict: NodeVerdict, draw: int = 0, others: tuple[NodeVerdict, ...] = ()) -> Slowed:
    result = SlowedResult(RESULT, verdict, 1.09, 1.02, 1.17, 0.012, 1.11)
    canary = SlowedResult("canary", NodeVerdict.FINE, 1.0, 0.95, 1.05, None, None)
    return Slowed(effect, "drift taken off", draw, verdict, "", (result, canary), others, 3.0)


ARRIVED = Arrived(
    nodes=2,
    without=f"{'The run ended with 2. ' * 10}pip could not fetch the locked wheels (numpy 2.4.6 …): No index.",
    changed="The bundle that arrived here has the SHA-256 e8b0…, and 1962… was sent.",
    forged="wheels/numpy.whl in the bundle is not the file that its manifest names: expected sha256 1, found 2.",
    left_of_forged=0,
    packed=1,
    wheel_bytes=254_000_000,
    wheels=44,
    wheels_right=44,
    wheels_needed=44,
    environments=("canary", "canary"),
    expected=("canary", "canary"),
    records=2,
    exit_code=3,
    seconds=84.0,
)
REPLAY = Replay(
    nodes=16,
    runs_each=6,
    node_sd=0.01,
    run_sd=0.01,
    shared=0.5,
    scatter={"mobilenet/latency/fp32/b1/t1/cpu": 0.07, "canary": 0.04},
    paired={"0.1": {"mobilenet/latency/fp32/b1/t1/cpu": 1.101, "canary": 1.0}},
    fleets=(slowed(0.1, NodeVerdict.SLOW), slowed(0.1, NodeVerdict.FINE, 1, (NodeVerdict.NOISY,))),
)
RECORD = Record(
    schema=1,
    started="2026-11-25T16:00:00Z",
    finished="2026-11-25T16:10:00Z",
    tool_version="1",
    machine={},
    seed=1,
    ray="2.60.0",
    launcher="docker",
    plan="--profile smoke",
    slowed_plan="--profile standard",
    load_before=(0.1, 0.2, 0.3),
    load_after=(1.0, 1.0, 1.0),
    whole=WHOLE,
    node=KILLED,
    head=msgspec.structs.replace(KILLED, what="head"),
    replay=REPLAY,
    bundle=ARRIVED,
)


def with_part(part: str, **changes: object) -> Record:
    """Return the record with other facts of one part."""
    return msgspec.structs.replace(RECORD, **{part: msgspec.structs.replace(getattr(RECORD, part), **changes)})
