"""Every type of the record survives being written and read."""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.schema import SCHEMA, Run
from tests.record.strategies import of
from tests.records_builder import make_run


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_runs_round_trip_through_the_reader(data: st.DataObject) -> None:
    run = msgspec.structs.replace(data.draw(of(Run)), schema=SCHEMA)
    assert files.decode(msgspec.json.encode(run), "it") == run


def test_the_json_schema_is_json_and_names_every_type() -> None:
    schema = json.loads(json.dumps(files.schema()))
    assert {"Run", "Block", "Generation", "Launch", "Round", "Turn", "Window", "Noise", "Absent"} <= set(
        schema["$defs"]
    )
    assert set(schema["$defs"]["Run"]["required"]) >= {"schema", "id", "settings", "machine", "blocks"}


def test_every_series_of_integers_is_bounded_by_its_type() -> None:
    """`files.decode` leaves such series to the types."""
    unbounded = [
        f"{kind}.{name}"
        for kind, found in files.schema()["$defs"].items()
        for name, each in found.get("properties", {}).items()
        for items in _series(each)
        if items.get("type") == "integer" and not {"minimum", "maximum"} <= items.keys()
    ]
    assert not unbounded


def _series(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield what each array within a JSON schema consists of."""
    if isinstance(schema, dict):
        if isinstance(schema.get("items"), dict):
            yield schema["items"]
        for value in schema.values():
            yield from _series(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _series(value)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**30])
def test_a_series_with_a_number_that_is_too_large_is_refused(number: int) -> None:
    run = msgspec.json.encode(make_run(generations=1, rounds=1, models=("mlp",)))
    spoiled = re.sub(rb'"samples_ns":\[\d+', b'"samples_ns":[%d' % number, run, count=1)
    with pytest.raises(LevelfieldError, match="follow the schema"):
        files.decode(spoiled, "it")
