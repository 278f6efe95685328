"""Every form that a setting can ask for, in containers: it computes the same, and says who multiplies."""

from pathlib import Path

import docker
import pytest

from levelfield.backends import registry
from levelfield.backends.kernels import MKL, ONEDNN
from levelfield.record import files
from levelfield.record.page import NAME as REPORT
from tests.commands import run

pytestmark = pytest.mark.docker

PREPARING = ("frozen", "linear")
"""Settings that choose what is prepared from the weights before the first call."""


@pytest.mark.parametrize(
    "backends", [("torch", "jax"), pytest.param(registry.names(), marks=pytest.mark.extended)], ids="+".join
)
def test_every_form_computes_the_same_and_names_who_multiplies(
    engine: docker.DockerClient, tmp_path: Path, backends: tuple[str, ...]
) -> None:
    tmp_path.chmod(0o755)
    forms = _forms(backends)
    assert {"torch+frozen=on", "torch+linear=onednn", "jax+frozen=off"} <= set(forms)
    assert ("torch-compile+frozen=off" in forms) == ("torch-compile" in backends)
    command = run(
        "bench", "--profile", "smoke", "--models", "mlp", "--scenarios", "latency", "--control", "none",
        "--backends", ",".join((*backends, *forms)), "--reports", tmp_path / "reports", folder=tmp_path,
    )  # fmt: skip
    assert command.code == 0, command.err + command.out
    (record,) = (tmp_path / "reports").glob("*/report.html")
    page = (record.parent / REPORT).read_text(encoding="utf-8")
    (block,) = files.read(record.parent).blocks
    by_arm = {}
    for first, launch in (
        (generation is block.generations[0], launch)
        for generation in block.generations
        for launch in generation.launches
    ):
        assert launch.failure is None
        assert launch.parity is not None
        assert launch.parity.equal, launch.parity.reason
        if launch.arm != block.canary and first:
            assert launch.computed is not None
            assert launch.computed.kernels_source
            by_arm[launch.arm] = launch
        elif launch.arm != block.canary:
            assert launch.computed is None, "it is asked once"
    assert set(by_arm) == {*backends, *forms}
    packed, plain = by_arm["torch+linear=onednn"].computed, by_arm["torch"].computed
    assert packed is not None
    assert plain is not None
    assert sum(plain.kernels.values()) == sum(packed.kernels.values()) == 6  # its six layers
    assert all(name.startswith(MKL) for name in plain.kernels)
    assert all(name.startswith(ONEDNN) for name in packed.kernels)
    for name in (*plain.kernels, *packed.kernels):
        assert name in page
    if "openvino" in backends:
        openvino = by_arm["openvino"].computed
        assert openvino is not None
        assert sum(openvino.kernels.values()) == sum(openvino.products.values())
    for arm, launch in by_arm.items():
        frozen = arm.endswith("+frozen=on") or (not arm.endswith("+frozen=off") and arm != "torch")
        for name, value in (("torch-compile", "freezing"), ("tensorflow", "weights"), ("jax", "weights")):
            if arm.partition("+")[0] == name:
                assert launch.settings[value] in (
                    {"on", "constants of the graph", "constants of the compiled function"}
                    if frozen
                    else {"off", "variables", "arguments of every call"}
                )


def _forms(backends: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        f"{name}+{setting}={value}"
        for name in backends
        for setting, values in registry.get(name).settings.items()
        if setting in PREPARING
        for value in values[1:]
    )
