"""`levelfield ab` as people type it, with real containers of two released versions."""

from pathlib import Path

import docker
import pytest

from levelfield.compare.ab import compare_arms
from levelfield.compare.types import Gate, Verdict
from levelfield.images import catalogue
from levelfield.record import files
from levelfield.record.schema import Run
from tests.benches import cut_off
from tests.commands import Command, one_clear_sentence, run
from tests.engines import none_left
from tests.records_builder import launches_of

pytestmark = pytest.mark.docker


class Case:
    """A folder for reports, and the one run in it."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self.folder = folder
        self.reports = folder / "reports"

    def ab(self, *words: str | Path) -> Command:
        return run("ab", *words, "--reports", self.reports, folder=self.folder)

    @property
    def record(self) -> Run:
        (path,) = self.reports.glob("*/report.html")
        return files.read(path)


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def test_two_released_versions_get_a_verdict_for_every_case(engine: docker.DockerClient, case: Case) -> None:
    old = "onnxruntime@1.30.0"
    command = case.ab(old, "onnxruntime", "--models", "mlp", "--budget", "45s", "--precision-target", "80%")
    assert command.code in {0, 1, 3}, command.err
    assert not command.err
    one = case.record
    assert (one.labels, len(one.blocks)) == (("ab",), 3)
    for block in one.blocks:
        assert [arm.id for arm in block.arms] == [old, "onnxruntime"]
        assert {launch.framework_version for each in block.generations for launch in each.launches} - {""} <= {
            "1.30.0",
            str(catalogue.current_version("onnxruntime")),
            *([] if block.canary is None else [catalogue.lock("canary").versions["numpy"]]),
        }
    images = {(image.name, image.variant): image for image in one.images}
    before, after = images["onnxruntime", "cpu@1.30.0"], images["onnxruntime", "cpu"]
    assert before.distributions["onnxruntime"] == "1.30.0"
    differing = [one != other for one, other in zip(before.layers, after.layers, strict=True)]
    assert differing == [False, False, True, False], "base and worker are the same; what is installed is not"
    assert {**before.distributions, "onnxruntime": ""} == {**after.distributions, "onnxruntime": ""}
    found = compare_arms(one, Gate(), "0" * 64)
    assert found.exit_code == command.code
    judged = {row.verdict for row in found.rows}
    assert judged <= set(Verdict) - {Verdict.FAILED, Verdict.UNEQUAL, Verdict.INCOMPARABLE}
    assert {row.case for row in found.rows} >= {block.case for block in one.blocks}
    assert none_left(engine, command.pid)


def test_a_run_is_gone_on_with_by_the_same_arms_only(case: Case) -> None:
    words = ("--profile", "smoke", "--models", "mlp", "--scenarios", "latency")
    output = case.folder / "comparison.md"
    first = case.ab("onnxruntime@1.30.0", "onnxruntime", *words, "--output", str(output))
    assert first.code == 3, first.err
    assert output.read_text(encoding="utf-8").startswith("**Whether onnxruntime differs from")
    before = case.record
    again = case.ab("onnxruntime@1.30.0", "onnxruntime", *words, "--resume", before.id)
    one_clear_sentence(again, "is finished")
    assert case.record == before
    cut_off(case.reports / before.id)
    other = case.ab("onnxruntime@1.29.0", "onnxruntime", *words, "--resume", before.id)
    one_clear_sentence(other, "holds onnxruntime@1.30.0 against onnxruntime, not onnxruntime@1.29.0 against")


def test_what_the_container_costs(engine: docker.DockerClient, case: Case) -> None:
    command = case.ab(
        "onnxruntime", "onnxruntime+launcher=venv",
        "--profile", "smoke", "--models", "mlp", "--scenarios", "latency,cold-start,memory",
    )  # fmt: skip
    assert command.code == 3, command.out + command.err
    assert not command.err
    one = case.record
    box, bare = (f"onnxruntime+launcher={place}" for place in ("docker", "venv"))
    assert {tuple(arm.id for arm in block.arms) for block in one.blocks} == {(box, bare)}
    assert one.settings.launcher == "docker"
    images = {image.launcher: image for image in one.images if image.name == "onnxruntime"}
    assert images["docker"].lock_sha256 == images["venv"].lock_sha256
    assert images["docker"].distributions == images["venv"].distributions
    assert images["docker"].worker_sha256 == images["venv"].worker_sha256
    assert images["docker"].layers
    assert not images["venv"].layers
    (cold,) = (block for block in one.blocks if block.case.scenario == "cold-start")
    for generation in cold.generations:
        assert {launch.arm for launch in generation.launches} == {box, bare}
        assert not any(launch.cache_warm or launch.failure for launch in generation.launches)
    loaded = {
        launch.arm: " ".join(library.path for library in launch.libraries)
        for launch in launches_of(*one.blocks)
        if launch.libraries
    }
    assert loaded[box] == loaded[bare]
    out = " ".join(command.out.split())
    assert f"{box} ran in a container, {bare} in a virtual environment of the same lock." in out
    for metric in ("latency", "cold start", "peak memory"):
        assert f"What the container costs in {metric}, over the virtual environment: MLP " in out
    assert {path.name for path in (case.reports / one.id / "sbom").iterdir()} >= {
        "onnxruntime-cpu.cdx.json",
        "onnxruntime-cpu+venv.cdx.json",
    }
    assert none_left(engine, command.pid)


def test_bisecting_names_the_distribution(case: Case) -> None:
    """Five distributions changed since 1.22.1; peak memory tells the two apart in a few launches.

    Each mixture is an environment of its own, and a virtual one is made in seconds; images of mixtures are built in
    `tests/images/test_killed.py`.
    """
    command = case.ab(
        "onnxruntime@1.22.1", "onnxruntime", "--models", "mlp", "--scenarios", "memory", "--bisect",
        "--launcher", "venv",
    )  # fmt: skip
    assert command.code in {0, 1}, command.err
    assert not command.err
    out = " ".join(command.out.split())
    assert "5 distributions differ: coloredlogs, humanfriendly, mpmath, onnxruntime, sympy." in out
    assert "cannot be installed together" in out, "1.22.1 cannot do without sympy"
    assert "onnxruntime makes the difference in mlp/memory/fp32/b1" in out
    assert "cannot be installed without it" in out
