"""The small commands as people type them."""

import json
from pathlib import Path

import msgspec
import pytest

from levelfield.record import files
from levelfield.record.page import NAME as REPORT
from tests.commands import call, one_clear_sentence
from tests.conftest import mounted
from tests.records_builder import make_run


def test_the_schema_is_printed_and_a_record_follows_it(tmp_path: Path) -> None:
    command = call("schema", folder=tmp_path)
    assert command.code == 0
    schema = json.loads(command.out)
    assert schema == json.loads(json.dumps(files.schema()))
    record = json.loads(msgspec.json.encode(make_run(models=["mlp"], backends=["jax"], generations=1, rounds=1)))
    _follows(record, schema, schema["$defs"])


def _follows(value: object, schema: dict[str, object], definitions: dict[str, dict[str, object]]) -> None:
    """Check the part of JSON Schema that says what an object must hold, all the way down."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        schema = definitions[reference.rpartition("/")[2]]
    if isinstance(value, dict):
        properties, required = schema.get("properties", {}), schema.get("required", [])
        assert isinstance(properties, dict)
        assert isinstance(required, list)
        assert set(required) <= set(value)
        for name, held in value.items():
            if name in properties:
                _follows(held, properties[name], definitions)
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, dict):
        for held in value:
            _follows(held, items, definitions)


def test_a_report_is_rendered_again(tmp_path: Path) -> None:
    files.write(make_run(), tmp_path)
    command = call("report", tmp_path, folder=tmp_path)
    assert command.code == 0, command.err
    assert (tmp_path / REPORT).read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "Traceback" not in command.err


def test_a_report_at_another_price_leaves_record_and_page_alone(tmp_path: Path) -> None:
    record = files.write(make_run(models=("mlp",), scenarios=("latency",)), tmp_path)
    before = record.read_bytes()
    command = call("report", tmp_path, "--price", "1.20EUR/h", folder=tmp_path)
    assert command.code == 0, command.err
    for said in ("EUR a million items", "Cost is time times"):
        assert said in " ".join(command.out.split())
    assert record.read_bytes() == before
    assert not (tmp_path / REPORT).exists()


def test_a_report_is_named_by_its_run(tmp_path: Path) -> None:
    (tmp_path / "reports" / "a-run").mkdir(parents=True)
    files.write(make_run(), tmp_path / "reports" / "a-run")
    command = call("report", "a-run", folder=tmp_path)
    assert command.code == 0, command.err
    assert (tmp_path / "reports" / "a-run" / REPORT).is_file()


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "There is no run"), (b"{}", "is not a record"), (b'{"schema": 999}', "has schema 999"), (b"[", "is not a")],
)
def test_a_report_of_what_is_no_record(tmp_path: Path, content: bytes | None, says: str) -> None:
    record = tmp_path / "run.json"
    if content is not None:
        record.write_bytes(content)
    one_clear_sentence(call("report", record, folder=tmp_path), says)


def test_to_look_makes_no_cache(tmp_path: Path) -> None:
    cache = tmp_path / "not" / "yet"
    for words in (["list"], ["doctor"]):
        call(*words, folder=tmp_path, environment={"LEVELFIELD_CACHE": str(cache)})
    assert not cache.parent.exists()


def test_a_home_that_cannot_be_written_is_said_before_anything_is_planned(tmp_path: Path) -> None:
    with mounted(tmp_path / "home", "1m,ro") as home:
        where = {"LEVELFIELD_CACHE": str(home / "cache")}
        # The model is unknown, which planning would say.
        one_clear_sentence(
            call("bench", "--models", "mpl", folder=tmp_path, environment=where),
            "cannot be made: Read-only file system",
        )
        examined = call("doctor", "--json", folder=tmp_path, environment=where)
    assert examined.code == 2
    bad = [each for each in json.loads(examined.out)["findings"] if each["state"] == "bad"]
    assert any("LEVELFIELD_CACHE" in each["fix"] for each in bad)
