"""Every framework's own optimizer follows the recipe, and is refused with each mistake made in it for real."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import levelfield
from levelfield.zoo import models
from levelfield.zoo.training import convergence
from levelfield.zoo.training.recipe import AdamW

ROOT = Path(levelfield.__file__).parents[2]
CHILD = Path(__file__).with_name("updating_child.py")
RULES = {name: models.recipe(name).optimizer for name in models.trained()} | {
    goal.network: goal.optimizer for goal in convergence.GOALS.values()
}
NAMED = {
    "no weight decay", "weight decay x 100", "another momentum", "learning rate x 1.001",
    "decay of biases and norms too",
}  # fmt: skip
"""At least these are made in every framework and every model."""


def checked(backend: str, model: str) -> dict[str, dict[str, Any]]:
    """Return what is found of the right rule and of each mistake, by its name."""
    done = subprocess.run(
        [sys.executable, str(CHILD), backend, model],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'suite'}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def right_only(backend: str, model: str) -> None:
    """Assert that a backend's own optimizer follows the recipe, and that no mistake made in it does."""
    found = checked(backend, model)
    assert set(found) >= NAMED
    if isinstance(RULES[model], AdamW):
        assert set(found) >= {"another beta2", "another epsilon"}
    if not backend.startswith("keras-"):  # of which AdamW comes within half of the tolerance
        assert found["right"]["error"] < found["right"]["tolerance"] / 5
    judged(f"{backend} {model}", found)


def judged(what: str, found: dict[str, dict[str, Any]]) -> None:
    """Assert that of what `updating_child.py` found, the rule alone follows the recipe."""
    right = found["right"]
    assert right["reason"] == ""
    assert right["error"] < right["tolerance"]
    print(what, right["error"])
    for mistake in found.keys() - {"right"}:
        wrong = found[mistake]
        print(what, mistake, wrong["error"])
        assert wrong["reason"].startswith("Its optimizer does not follow the recipe"), mistake
        assert wrong["error"] > 10 * wrong["tolerance"], mistake
