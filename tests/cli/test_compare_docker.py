"""A real upgrade: two released versions of ONNX Runtime, three short runs each in real containers, compared."""

import json
from pathlib import Path

import docker
import pytest

from suite.images import catalogue
from tests.commands import run

pytestmark = pytest.mark.docker

OLD = "1.30.0"
CASES = 2
"""Latency and memory of the MLP."""


@pytest.fixture(scope="module")
def place(engine: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], list[str]]:
    """A folder with the runs of both versions, in turns, as one would measure them without a reboot between."""
    folder = tmp_path_factory.mktemp("upgrade")
    folder.chmod(0o755)
    sides: dict[str, list[str]] = {f"onnxruntime@{OLD}": [], "onnxruntime": []}
    for _ in range(3):
        for backend, names in sides.items():
            before = {path.name for path in (folder / "reports").glob("*")}
            command = run("bench", "--models", "mlp", "--backends", backend, "--control", "none", "--budget", "10s",
                          "--scenarios", "latency,memory", "--reports", folder / "reports", folder=folder)  # fmt: skip
            assert command.code == 0, command.err + command.out
            (name,) = {path.parent.name for path in (folder / "reports").glob("*/run.json")} - before
            names.append(name)
    old, new = sides.values()
    return folder, old, new


def test_an_upgrade_gets_a_verdict_for_every_case(place: tuple[Path, list[str], list[str]]) -> None:
    folder, old, new = place
    words = [word for side, names in (("--old", old), ("--new", new)) for name in names for word in (side, name)]
    command = run("compare", *words, "--format", "json", folder=folder)
    found = json.loads(command.out)
    assert command.code == found["exit_code"] in {0, 1, 3}, command.err
    assert len(found["rows"]) == CASES
    for row in found["rows"]:
        assert (row["old_arm"], row["new_arm"]) == (f"onnxruntime@{OLD}", "onnxruntime")
        if min(row["old_replicates"], row["new_replicates"]) < 3:  # on a busy machine the budget holds fewer cases
            assert row["verdict"] == "not decidable"
            continue
        assert row["verdict"] in {"faster", "slower", "leaner", "hungrier", "same", "inconclusive"}
        assert row["ratio"]["low"] <= row["ratio"]["value"] <= row["ratio"]["high"]
    latency = next(row for row in found["rows"] if row["metric"] == "latency")
    assert (latency["old_replicates"], latency["new_replicates"]) == (3, 3)
    assert {drift["movement"] for drift in found["drifts"]} <= {"identical", "moved within precision"}
    changed = {
        (group["title"], change["name"]): (change["old"], change["new"])
        for group in found["changes"]
        for change in group["changes"]
        if change["state"] == "changed"
    }
    versions = (OLD, str(catalogue.current_version("onnxruntime")))
    assert versions in [pair for (title, name), pair in changed.items() if name == "onnxruntime"]
    assert any(name.startswith("layer ") for _, name in changed)
    assert not any(title.startswith(("Kernel", "Processor", "Inputs")) for title, _ in changed)


def test_one_run_a_side_judges_everything_but_speed(place: tuple[Path, list[str], list[str]]) -> None:
    folder, old, new = place
    command = run("compare", old[0], new[0], folder=folder)
    assert command.code == 3, command.out
    assert command.out.startswith("Whether anything got slower cannot be decided from one run a side")
    assert f"onnxruntime {OLD} → " in " ".join(command.out.split())
