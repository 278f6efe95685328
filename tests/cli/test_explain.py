"""`levelfield explain` as people type it: what needs no engine, and real containers."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import docker
import pytest

from levelfield.images.build import recipe
from tests.commands import one_clear_sentence, run
from tests.engines import none_left

NO_ENGINE = {"DOCKER_HOST": "unix:///nobody/is/here.sock"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["onnxruntim/mlp"], ["There is no backend called 'onnxruntim'", "Did you mean 'onnxruntime'"]),
        (["onnxruntime/mlp", "onnxruntime/nlp"], ["There is no model called 'nlp'", "'mlp'"]),
        (["onnxruntime/mlp", "--launcher", "docker"], ["No container engine answers"]),
    ],
)
def test_mistakes_end_in_one_sentence(tmp_path: Path, words: list[str], says: list[str]) -> None:
    one_clear_sentence(run("explain", *words, folder=tmp_path, environment=NO_ENGINE), *says)


def test_two_formats_do_not_share_the_terminal(tmp_path: Path) -> None:
    command = run("explain", "torch/mlp", "--json", "--csv", "-", folder=tmp_path)
    assert command.code == 2
    assert "Either JSON or CSV" in command.err


@pytest.mark.docker
def test_two_frameworks_in_their_containers(engine: docker.DockerClient, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    cases = (
        "onnxruntime/mlp/latency/fp32/b1/t1/cpu",
        "jax/mlp/throughput/fp32/b100/t1/cpu",
        "onnxruntime/gemm-512x1x512/operators/fp32/b1/t1/cpu",
    )
    command = run("explain", *cases, "--by-layer", "--json", "--csv", "all.csv", folder=tmp_path)
    assert command.code == 0, command.err
    assert none_left(engine, command.pid)
    for text in (*cases, "FusedGemm", "dot", "cumulative", "of the plain median", "times as long"):
        assert text in command.err
    written = json.loads(command.out)
    assert [result["result"] for result in written["results"]] == list(cases)
    assert {result["launcher"] for result in written["results"]} == {"docker"}
    for result in written["results"]:
        assert result["operators"][-1]["cumulative"] == pytest.approx(1.0)
        assert sum(row["share"] for row in result["operators"]) == pytest.approx(1.0)
        assert result["account"]["plain_calls"] > 100
        assert result["account"]["slowdown"] > 0.5
    rows = list(csv.DictReader(io.StringIO((tmp_path / "all.csv").read_text(encoding="utf-8"))))
    assert {row["result"] for row in rows} == set(cases)
    assert sum("node_linear" in row["layer"] for row in rows if "/mlp/" in row["result"]) == 6
    assert [row["operator"] for row in rows if row["result"] == cases[-1]] == ["MatMul"]


@pytest.mark.extended
@pytest.mark.docker
def test_what_is_compiled_has_names_for_its_kernels(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    command = run("explain", "torch-compile/mlp", "--json", "--trace", "t.json", folder=tmp_path)
    assert command.code == 0, command.err
    (result,) = json.loads(command.out)["results"]
    kernels = [row["operator"] for row in result["operators"] if row["operator"].startswith("cpp_fused_")]
    assert kernels
    complete = chrome_events((tmp_path / "t.json").read_bytes())
    assert any(kernels[0] in each["name"] for each in complete)


def chrome_events(content: bytes) -> list[dict[str, Any]]:
    """Read complete events as the format's own document says: name, phase, process, thread, time and duration.

    https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
    """
    found = json.loads(content)
    events = found if isinstance(found, list) else found["traceEvents"]
    complete = [each for each in events if each["ph"] == "X"]
    for each in complete:
        assert {"name", "pid", "tid", "ts", "dur"} <= each.keys()
        assert each["dur"] >= 0
    return complete


READER = """
import sys
from jax.profiler import ProfileData
found = ProfileData.from_file("/trace/f.xplane.pb")
print(sum(1 for plane in found.planes for line in plane.lines for event in line.events if sys.argv[1] in event.name))
"""


@pytest.mark.docker
@pytest.mark.parametrize(("backend", "product"), [("jax", "dot"), ("tensorflow", "MatMul")])
def test_jax_reads_a_timeline_for_tensorboard(
    engine: docker.DockerClient, tmp_path: Path, backend: str, product: str
) -> None:
    """JAX's own reader of the format, in its image, finds the six products of every call."""
    tmp_path.chmod(0o755)
    command = run(
        "explain", f"{backend}/mlp/latency/fp32/b1/t1/cpu", "--json", "--trace", "f.xplane.pb", folder=tmp_path
    )
    assert command.code == 0, command.err
    (result,) = json.loads(command.out)["results"]
    read = engine.containers.run(
        recipe("jax").tag,
        ["-c", READER, product],
        entrypoint="/opt/levelfield/env/bin/python",
        volumes={str(tmp_path): {"bind": "/trace", "mode": "ro"}},
        network_mode="none",
        remove=True,
    )
    assert int(read) >= 5 * result["account"]["profiled_calls"]
