"""`levelfield bench`, `ab` and `explain` as people type them."""

import csv
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import docker
import msgspec
import pytest
from click.testing import CliRunner, Result

from levelfield.cli.measure import ab, bench
from levelfield.compare.ab import compare_arms, gate_of
from levelfield.errors import LevelfieldError
from levelfield.plan import Plan
from levelfield.record import files
from levelfield.run import ab as steps
from levelfield.run import bench as bench_steps
from levelfield.run.options import Options, Own, options_of, own_of
from levelfield.statistics.student import FIRST_LOOK
from tests.commands import NO_ENGINE, call, one_clear_sentence, run
from tests.compare import pairs
from tests.engines import none_left


def test_what_is_typed_arrives() -> None:
    words = [
        "--models", "mlp", "--precision", "fp32,bf16", "--batch", "8,2", "--budget", "90s", "--margin", "3%",
        "--launcher", "host", "--target", "90%", "--seed", "5", "--inject", "5%@torch",
        "--cpus", "0-1,8",
    ]  # fmt: skip
    made = options_of(bench.make_context("bench", words).params)
    assert (made.selection.models, made.selection.precisions) == (("mlp",), ("fp32", "bf16"))
    assert (made.selection.batches, made.selection.cpus) == ((8, 2), (0, 1, 8))
    assert made.selection.inject == ("5%", "torch")
    assert not made.selection.locked, "what is installed runs"
    assert (made.budget_seconds, made.margin, made.seed, made.launcher) == (90.0, 0.03, 5, "host")
    assert (made.target, made.command[0]) == (0.9, "levelfield")


@pytest.mark.parametrize(
    ("values", "own"),
    [
        ((), Own()),
        (("x.onnx",), Own(Path("x.onnx"))),
        (("here/net.py:build",), Own(function="here/net.py:build")),
        (("net.py",), Own(function="net.py")),
        (("bert/", "."), Own(weights=(Path("bert"), Path()))),
    ],
)
def test_a_users_own_is_recognised(values: tuple[str, ...], own: Own) -> None:
    assert own_of(values) == own


@pytest.mark.parametrize("values", [("x.onnx", "x.py:build"), ("x.py:build", "."), ("x.onnx", "y.onnx")])
def test_a_run_measures_one_kind_of_what_is_the_users_own(values: tuple[str, ...]) -> None:
    with pytest.raises(LevelfieldError, match=f"--model {values[0]} and --model .* exclude each other"):
        own_of(values)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("ab", "onnxruntime", "onnxruntim"), "Did you mean 'onnxruntime'"),
        (("ab", "onnxruntime@0.0.1", "onnxruntime"), "0.0.1"),
        (("ab", "onnxruntime", "onnxruntime+spining=off"), "Did you mean 'spinning'"),
        (("ab", "onnxruntime", "torch", "--models", "resnet"), "Did you mean 'resnet50' or 'mobilenet'?"),
        (("ab", "onnxruntime", "openvino", "--scenarios", "training"), "train"),
        (("ab", "onnxruntime", "torch", "--resume", "20200101"), "There is no run '20200101' to go on with."),
        (("ab", "onnxruntime", "torch"), "No container engine answers"),
        (("explain", "onnxruntime/mlp", "onnxruntime/nlp"), "There is no model called 'nlp'"),
        (("explain", "onnxruntime/mlp"), "No container engine answers"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    """None of these needs an engine to be found out, but those of the engine."""
    launcher = ("--launcher", "docker")
    one_clear_sentence(call(*words, *launcher, folder=tmp_path, environment=NO_ENGINE), says)
    assert not (tmp_path / "reports").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("onnxruntime",), "Missing argument 'B'"),
        (("a", "b", "--output", "found.docx"), "The ending of found.docx names no format: .txt, .md,"),
        (("a", "b", "--max-slowdown", "fast"), "not a percentage such as 2%"),
        (("a", "b", "--backends", "jax"), "No such option"),
    ],
)
def test_what_cannot_be_understood_names_the_help(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    one_clear_sentence(call("ab", *words, folder=tmp_path), says, "See `levelfield ab --help`.")


class Measured:
    """An `ab` whose record is there already: all before and after its measurement is real."""

    def __init__(self, folder: Path, factor: float) -> None:
        self.made = pairs.run(factor, models=("mlp",), scenarios=("latency",), generations=8, rounds=3, max_calls=20)
        self.folder = folder / "reports" / self.made.id
        self.asked: list[tuple[Plan, Options]] = []

    def conduct(self, chosen: Plan, options: Options, *_: object, **__: object) -> Path:
        self.asked.append((chosen, options))
        gate = {"margin": options.margin, "max_slowdown": options.max_slowdown}
        settings = msgspec.structs.replace(self.made.settings, **gate)
        self.made = msgspec.structs.replace(self.made, settings=settings)
        self.folder.mkdir(parents=True)
        return self.folder

    def conclude(self, folder: Path) -> steps.AbResult:
        record = files.write(self.made, folder)
        sha256 = hashlib.sha256(record.read_bytes()).hexdigest()
        return steps.AbResult(folder, record, self.made, compare_arms(self.made, gate_of(self.made), sha256))

    def ab(self, *words: str) -> Result:
        return CliRunner().invoke(ab, ["onnxruntime@1.30.0", "onnxruntime", "--models", "mlp", *words])


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], Measured]:
    def made(factor: float) -> Measured:
        found = Measured(tmp_path, factor)
        monkeypatch.setattr(bench_steps, "conduct", found.conduct)
        monkeypatch.setattr(steps, "conclude", found.conclude)
        return found

    return made


@pytest.mark.parametrize(
    ("factor", "words", "code", "says"),
    [
        (1.25, (), 1, "onnxruntime is slower than onnxruntime@1.30.0 in the only case"),
        (1.25, ("--max-slowdown", "40%"), 0, "onnxruntime is slower"),
        (0.8, (), 0, "onnxruntime is faster than onnxruntime@1.30.0 in the only case"),
    ],
)
def test_the_verdict_is_the_first_line_and_the_exit_code(
    measured: Callable[[float], Measured], factor: float, words: tuple[str, ...], code: int, says: str
) -> None:
    done = measured(factor).ab(*words)
    assert done.exit_code == code, done.output
    assert done.output.startswith(says)
    assert "Report: " in done.output


def test_the_verdict_is_written_in_every_format_that_was_asked_for(
    measured: Callable[[float], Measured], tmp_path: Path
) -> None:
    outputs = [tmp_path / f"found.{ending}" for ending in ("md", "xml", "json", "html", "TXT")]
    done = measured(1.25).ab(*(word for path in outputs for word in ("--output", str(path))))
    assert done.exit_code == 1, done.output
    assert all("onnxruntime is slower than " in path.read_text(encoding="utf-8") for path in outputs)
    assert json.loads(outputs[2].read_text(encoding="utf-8"))["exit_code"] == 1
    assert ET.parse(outputs[1]).getroot().attrib["failures"] == "1"


def test_what_is_typed_is_what_is_measured(measured: Callable[[float], Measured]) -> None:
    found = measured(1.0)
    found.ab("--margin", "4%", "--budget", "90s", "--seed", "5")
    ((chosen, options),) = found.asked
    assert [arm.id for arm in chosen.blocks[0].arms] == ["onnxruntime@1.30.0", "onnxruntime"]
    assert (options.margin, options.budget_seconds, options.seed) == (0.04, 90.0, 5)
    assert options.precision_target is None
    assert options.ends_on_verdict
    assert {block.planned_generations for block in chosen.blocks if block.case.timed} == {FIRST_LOOK}
    assert options.labels == ("ab",)


def test_a_smoke_run_and_a_named_target_do_not_end_on_a_verdict(measured: Callable[[float], Measured]) -> None:
    found = measured(1.0)
    found.ab("--precision-target", "3%")
    assert found.asked[0][1].precision_target == 0.03
    assert not found.asked[0][1].ends_on_verdict
    found.ab("--profile", "smoke")
    assert found.asked[1][1].precision_target is None
    assert not found.asked[1][1].ends_on_verdict


@pytest.mark.docker
def test_two_frameworks_in_their_containers(engine: docker.DockerClient, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    cases = (
        "onnxruntime/mlp/latency/fp32/b1/t1/cpu",
        "jax/mlp/throughput/fp32/b100/t1/cpu",
        "onnxruntime/gemm-512x1x512/operators/fp32/b1/t1/cpu",
    )
    command = run("explain", *cases, "--by-layer", "--json", "--csv", "all.csv", folder=tmp_path, code=0)
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
