"""The shell of the GitHub workflows, on other systems with empty engines; nothing but Docker was installed there."""

import shlex

import pytest
import yaml

from tests.commands import ROOT
from tests.rigs import rig

pytestmark = [pytest.mark.docker, pytest.mark.extended]

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
WORKFLOW = yaml.safe_load((ROOT / "recipes" / "github-actions.yml").read_text(encoding="utf-8"))
SETUP = 'python3 -m venv "$HOME/python"; export PATH="$HOME/python/bin:$PATH"'
"""What actions/setup-python is there for."""
SHORT = "--models mlp --scenarios latency --budget 30s --precision-target 50% --max-slowdown 50%"


def scripts(steps: list[dict[str, str]], *words: str) -> list[str]:
    """Return each step's script as a call of bash as a runner makes it; words are added to calls of a recipe."""
    added = "".join(f" {word}" for word in words)
    runs = [step["run"] for step in steps if "run" in step]
    return [shlex.join(["bash", "-e", "-o", "pipefail", "-c", each + added * ("recipes/" in each)]) for each in runs]


@pytest.mark.parametrize("system", ["ubuntu2404", "debian12", "debian13"])
def test_the_action_compares_on_a_fresh_machine(system: str) -> None:
    variables = {
        "GITHUB_ACTION_PATH": "$HOME/levelfield", "GITHUB_OUTPUT": "$HOME/output", "OLD": "onnxruntime@1.30.0",
        "NEW": "onnxruntime", "OPTIONS": SHORT, "UNDECIDED": "pass",
    }  # fmt: skip
    lines = [SETUP, *(f'export {name}="{value}"' for name, value in variables.items())]
    lines += ["cd", *scripts(ACTION["runs"]["steps"]), "cat output; ls gate; test -s gate/comment.md"]
    code, said = run_on(system, lines)
    assert code == 0, said
    assert "code=0" in said


def test_the_nightly_workflow_measures_on_a_fresh_machine() -> None:
    words = ("--profile", "smoke", "--models", "mlp", "--backends", "onnxruntime", "--control", "none")
    lines = [SETUP, *scripts(WORKFLOW["jobs"]["nightly"]["steps"], *words), "test -s site/index.html"]
    code, said = run_on("ubuntu2404", lines)
    assert code == 0, said


def run_on(system: str, lines: list[str]) -> tuple[int, str]:
    try:
        with rig.machine(system) as machine:
            machine.copy_checkout("joerg")
            done = machine.run("bash", "-e", "-c", "\n".join(lines), user="joerg")
            return done.returncode, done.stdout + done.stderr
    except rig.RigError as error:
        pytest.skip(str(error))
