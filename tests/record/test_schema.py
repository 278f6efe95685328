"""Every type of the record survives being written and read."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suite.record import files
from suite.record.schema import (
    SCHEMA,
    Absent,
    Arm,
    Artifact,
    Block,
    Case,
    Image,
    Launch,
    Noise,
    Round,
    Run,
    Settings,
    Turn,
    Warning_,
    Window,
)
from tests.record.strategies import of

CASE = Case("resnet50", "latency", "fp32", 1, 2)


@pytest.mark.parametrize("kind", [Arm, Artifact, Block, Image, Launch, Noise, Round, Settings, Turn, Warning_, Window])
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_types_round_trip(kind: type[Any], data: st.DataObject) -> None:
    value = data.draw(of(kind))
    assert msgspec.json.decode(msgspec.json.encode(value), type=kind) == value


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_runs_round_trip_through_the_reader(data: st.DataObject) -> None:
    run = msgspec.structs.replace(data.draw(of(Run)), schema=SCHEMA)
    assert files.decode(msgspec.json.encode(run), "it") == run


def test_a_case_names_itself() -> None:
    assert CASE.id == "resnet50/latency/fp32/b1/t2/cpu"


@pytest.mark.parametrize(
    ("arm", "id_"),
    [
        (Arm("onnxruntime", "onnxruntime"), "onnxruntime"),
        (Arm("onnxruntime", "onnxruntime", ordinal=2), "onnxruntime#2"),
        (Arm("onnxruntime", "onnxruntime", version="1.30.0"), "onnxruntime@1.30.0"),
        (Arm("torch", "torch", variant="cu13"), "torch@cu13"),
        (Arm("torch", "torch", variant="cu13", version="2.15.0"), "torch@2.15.0+cu13"),
        (Arm("torch", "torch", settings={"b": "2", "a": "1"}), "torch+a=1+b=2"),
    ],
)
def test_an_arm_names_itself(arm: Arm, id_: str) -> None:
    assert arm.id == id_


def test_absent_is_reported_from_every_fact() -> None:
    facts: dict[str, Any] = {"a": Absent("no"), "b": "text", "c": 3, "d": 1.5, "e": True}
    kind = Run.__annotations__["machine"]
    assert msgspec.json.decode(msgspec.json.encode({"group": facts}), type=kind) == {"group": facts}


def test_the_json_schema_is_json_and_names_every_type() -> None:
    schema = json.loads(json.dumps(files.schema()))
    assert {"Run", "Block", "Generation", "Launch", "Round", "Turn", "Window", "Noise", "Absent"} <= set(
        schema["$defs"]
    )
    assert set(schema["$defs"]["Run"]["required"]) >= {"schema", "id", "settings", "machine", "blocks"}
