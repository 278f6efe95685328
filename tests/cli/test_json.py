"""What commands print with `--json` follows its schema, and nothing else is on stdout."""

import json
from pathlib import Path
from typing import Any

import click
import jsonschema
import msgspec
import pytest

from levelfield.cli.json import ANSWERS, profiles, schema_of
from levelfield.cli.main import cli
from levelfield.errors import LevelfieldError
from levelfield.record import files
from tests import commands
from tests.cli.test_compare import write_year
from tests.compare.gates import keep
from tests.compare.runs import run
from tests.run.explained import ID, explained


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `reports/`: an old run and a new one; and `year/`, a history of forty runs with a step."""
    folder = tmp_path_factory.mktemp("answers")
    for seed, name, slower in ((1, "old", {}), (2, "new", {"onnxruntime": 1.25})):
        keep(run(name, seed, slower=slower, noise_scale=0.01), folder / "reports")
    write_year(folder / "year", tmp_path_factory.mktemp("template") / "run")
    return folder


def _answer(folder: Path, *words: str, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    """Run a command with `--json`, and return what it printed, which has to follow its schema."""
    command = commands.call(*words, "--json", folder=folder)
    assert command.code in codes, command.err + command.out
    found: dict[str, Any] = json.loads(command.out)
    jsonschema.validate(found, schema_of(words[0]))
    return found


def test_every_command_with_json_has_a_schema() -> None:
    every = dict(cli.commands)
    for group, command in cli.commands.items():
        if isinstance(command, click.Group):
            every |= {f"{group} {name}": inner for name, inner in command.commands.items()}
    assert {name for name, command in every.items() if any(p.name == "as_json" for p in command.params)} == set(ANSWERS)


def test_a_record_follows_its_schema(place: Path) -> None:
    schema = json.loads(commands.call("schema", folder=place).out)
    jsonschema.validate(json.loads((place / "reports" / "old" / files.NAME).read_bytes()), schema)


@pytest.mark.parametrize("words", [("bench",), ("images", "push")])
def test_schemas_are_printed(place: Path, words: tuple[str, ...]) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(commands.call("schema", *words, folder=place).out))
    commands.one_clear_sentence(commands.call("schema", "bundle", folder=place), "called 'bundle'")


def test_a_list_names_what_can_be_asked_for(place: Path) -> None:
    found = _answer(place, "list")
    (backend,) = (each for each in found["backends"] if each["name"] == "onnxruntime")
    assert backend["reads_onnx"]
    assert "bf16" not in backend["precisions_cpu"]
    assert backend["settings"]["spinning"] == ["on", "off"]
    assert {each["name"] for each in found["models"]} > {"mlp", "resnet50", "bert"}
    assert "latency" in found["scenarios"]
    assert set(_answer(place, "list", "models")) == {"format", "models"}


def test_a_verified_report_has_its_checks(place: Path) -> None:
    _answer(place, "report", "new")
    found = _answer(place, "verify", "reports/new", codes=(0, 3))
    assert found["run"] == "new"
    assert {each["state"] for each in found["checks"]} <= {"holds", "open", "unverified", "broken"}


def test_a_comparison_is_the_same_by_both_names(place: Path) -> None:
    found = _answer(place, "compare", "old", "new", codes=(3,))
    assert found == json.loads(commands.call("compare", "old", "new", "--format", "json", folder=place).out)
    both = commands.call("compare", "old", "new", "--json", "--format", "json", folder=place, code=2)
    assert "leave one of them out" in both.err


def test_a_trend_has_its_change_point_and_what_differs(place: Path) -> None:
    (one,) = _answer(place, "history", "onnxruntime/mlp/latency", "--reports", "year")["results"]
    (change,) = one["changes"]
    assert change["ratio"] == pytest.approx(1.13, rel=0.02)
    assert change["runs"] == 15
    assert change["run"] == one["series"]["points"][25]["run"]
    assert any("onnxruntime" in each["name"] + each["group"] for each in change["differences"])


def test_a_profile_has_its_operators() -> None:
    failed = {"jax/mlp": LevelfieldError("It could not.", fix="Do this.")}
    found = msgspec.to_builtins(profiles([explained()], failed, by_layer=True))
    (result,) = found["results"]
    assert result["result"] == ID
    assert result["account"]["slowdown"] == pytest.approx(1.3)
    assert [row["layer"] for row in result["operators"]] == ["stem", "head", "relu"]
    assert set(result["operators"][0]) == {"operator", "layer", "calls", "self_us", "share", "cumulative"}
    assert list(found["failed"]) == [{"result": "jax/mlp", "message": "It could not. Do this."}]
