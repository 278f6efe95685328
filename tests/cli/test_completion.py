"""Names are completed, in a real bash too, and scripts are written where shells look."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from levelfield.cli import completion
from levelfield.cli.main import cli
from tests.commands import IMPORTS, call


def completed(line: str, folder: Path) -> list[str]:
    """Return what a real bash makes of a line at whose end Tab is pressed."""
    command = folder / "levelfield"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m levelfield.cli "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    asked = f"""
        {completion.script("bash")}
        COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)}
        _levelfield_completion {shlex.quote(str(command))}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", asked],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": IMPORTS},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("levelfield expo", ["export"]),
        ("levelfield ab onnxruntime@1.30", ["1.30.0"]),  # bash itself splits a word at its @
        ("levelfield bench --models=mlp,res", ["mlp,resnet50"]),
    ],
)
def test_bash_completes_commands_versions_and_lists(line: str, names: list[str], tmp_path: Path) -> None:
    assert completed(line, tmp_path) == names


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
    assert values("images build", "images", "keras-t") == ["keras-torch", "keras-tensorflow"]


def test_runs_are_those_of_the_folder_of_reports_the_newest_first(tmp_path: Path) -> None:
    for name, file in (("20260101-a", "run.json"), ("20260102-b", "journal.jsonl"), ("notes", "text.md")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).touch()
    assert values("compare", "runs", "2026", reports=tmp_path) == ["20260102-b", "20260101-a"]
    assert values("bench", "resume", "20260102", reports=tmp_path) == ["20260102-b"]
    assert values("report", "run", "", reports=tmp_path / "nowhere") == []


def test_no_name_that_a_shell_could_evaluate_is_offered(tmp_path: Path) -> None:
    names = ["a$(touch${IFS}there)b", "a`id`", "a b", "a;b", "a'b", "a\nb", "-a", ".a", "ä", "a*", "a-run"]
    for name in names:
        (tmp_path / "reports" / name).mkdir(parents=True)
        (tmp_path / "reports" / name / "run.json").touch()
    assert completed("levelfield report ", tmp_path) == ["a-run"]
    for complete in (completion._one, completion._several):
        found = complete(lambda *_: names)(click.Context(cli), cli.params[0], "")
        assert [each.value for each in found] == ["a-run"]


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_one_command_writes_the_script_where_the_shell_looks(shell: str, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "SHELL": f"/usr/bin/{shell}", "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}
    done = call("completion", "--install", folder=tmp_path, environment={**home, "ZDOTDIR": ""}, code=0)
    files = [Path(line.removeprefix("Written: ")) for line in done.out.splitlines() if line.startswith("Written: ")]
    assert files[0].read_text(encoding="utf-8") == completion.script(shell)
    assert all(file.is_relative_to(tmp_path) for file in files)
    if shell == "zsh":
        call("completion", "--install", folder=tmp_path, environment={**home, "ZDOTDIR": ""}, code=0)
        assert (tmp_path / ".zshrc").read_text(encoding="utf-8").count("source ") == 1
