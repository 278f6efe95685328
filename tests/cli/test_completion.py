"""Names are completed, in a real bash too, and scripts are written where shells look."""

from pathlib import Path

import click

from levelfield.cli.main import cli


def values(command: str, parameter: str, incomplete: str, **given: object) -> list[str]:
    typed: click.Command = cli
    for word in command.split():
        assert isinstance(typed, click.Group)
        typed = typed.commands[word]
    found = next(each for each in typed.params if each.name == parameter)
    context = click.Context(typed)
    context.params.update(given)
    return [each.value for each in found.shell_complete(context, incomplete)]


def test_names_are_completed_where_they_are_asked_for() -> None:
    assert values("bench", "profile", "") == ["smoke", "standard", "full"]
    assert values("bench", "scenarios", "latency,cold") == ["latency,cold-start"]
    assert "openvino" in values("bench", "backends", "")
    assert values("bench", "backends", "openvino,openv") == []
    assert "onnxruntime,openvino@2026.4.1" in values("bench", "backends", "onnxruntime,openvino@")
    assert values("ab", "a", "torch-c") == ["torch-compile"]
    assert values("images build", "images", "onnxruntime-") == ["onnxruntime-tensorrt-rtx"]


def test_runs_are_those_of_the_folder_of_reports_the_newest_first(tmp_path: Path) -> None:
    for name, file in (("20260101-a", "run.json"), ("20260102-b", "journal.jsonl"), ("notes", "text.md")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).touch()
    assert values("compare", "runs", "2026", reports=tmp_path) == ["20260102-b", "20260101-a"]
    assert values("bench", "resume", "20260102", reports=tmp_path) == ["20260102-b"]
    assert values("report", "run", "", reports=tmp_path / "nowhere") == []
