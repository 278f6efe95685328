"""A node is asked in a process of its own, and always answers."""

from pathlib import Path

import pytest

from levelfield.images import catalogue
from levelfield.paths import tool_sha256
from levelfield.plan import Selection
from levelfield_fleet.run import asking, messages
from levelfield_fleet.run.messages import Failed, Measure, Survey, Surveyed

SELECTION = Selection(profile="smoke", models=("mlp",), backends=("onnxruntime",), scenarios=("latency",))


def ask(request: Survey | Measure, *chunks: bytes) -> messages.Reply:
    return messages.reply_of(asking.carry(messages.encode(request), chunks))


def test_a_node_says_what_it_would_measure_with() -> None:
    answer = ask(Survey(SELECTION, "venv", "debian"))
    assert isinstance(answer, Surveyed)
    assert answer.tool_sha256 == tool_sha256()
    assert answer.locks == {name: catalogue.lock(name).sha256 for name in ("onnxruntime", "canary", "exporter")}


def test_a_run_that_cannot_begin_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    answer = ask(Measure("fleet", "node-01", ("--models", "mpl", "--launcher", "venv"), 1, 60.0))
    assert isinstance(answer, Failed)
    assert "The run ended with 2." in answer.reason
    assert "There is no model called 'mpl'" in answer.reason


def test_a_bundle_of_another_digest_is_not_taken_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    answer = ask(Measure("fleet", "node-01", (), 1, 60.0, "0" * 64), b"one", b"two")
    assert isinstance(answer, Failed)
    assert "The bundle that arrived here has the SHA-256" in answer.reason
    assert not (tmp_path / "fleets").exists()


def test_variables_of_ray_s_workers_do_not_reach_the_run() -> None:
    given = {"RAY_AUTH_TOKEN": "x", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PATH": "/bin"}
    assert asking.without_ray(given) == {"PATH": "/bin"}


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (messages.encode(Survey(Selection(models=("mpl",)), "host", "debian")), "There is no model called 'mpl'"),
        (b"\x80\x04.", "asked what no head asks"),
    ],
)
def test_what_a_node_cannot_plan_or_read_is_a_sentence(request_: bytes, says: str) -> None:
    answer = messages.reply_of(asking.carry(request_))
    assert isinstance(answer, Failed)
    assert says in answer.reason
