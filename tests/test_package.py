"""The wheel and the source distribution: the same bytes again, what they hold, and a run without a checkout."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import uv

from levelfield.images import catalogue
from tests.commands import ROOT, run

EPOCH = "1767225600"
LOCK = ROOT / "images" / "tool" / "runtime.lock"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def build(source: Path, out: Path) -> tuple[Path, Path]:
    """Build a wheel and a source distribution, and return their files."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(out)],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH},
        check=True,
        capture_output=True,
    )
    (wheel,), (source_distribution,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, source_distribution


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(ROOT, tmp_path_factory.mktemp("built"))


def test_a_second_build_from_the_source_distribution_has_the_same_bytes(
    built: tuple[Path, Path], tmp_path: Path
) -> None:
    wheel, source_distribution = built
    subprocess.run(["tar", "-xf", source_distribution, "-C", tmp_path], check=True)
    again = build(tmp_path / source_distribution.name.removesuffix(".tar.gz"), tmp_path / "dist")
    assert [each.name for each in again] == [wheel.name, source_distribution.name]
    assert again[0].read_bytes() == wheel.read_bytes()
    assert again[1].read_bytes() == source_distribution.read_bytes()


def test_the_wheel_holds_what_images_are_made_from_and_no_studies(built: tuple[Path, Path]) -> None:
    names = zipfile.ZipFile(built[0]).namelist()
    recipes = {f"levelfield/_images/{path.relative_to(ROOT / 'images')}" for path in (ROOT / "images").rglob("*")}
    assert {name for name in names if name.startswith("levelfield/_images/")} <= recipes
    for name in catalogue.images():
        assert f"levelfield/_images/{name}/cpu.lock" in names or not (ROOT / "images" / name / "cpu.lock").exists()
    assert "levelfield/_images/catalogue.toml" in names
    assert "levelfield/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("studies/", "tests/", "reports/"))]


def environment(folder: Path) -> dict[str, str]:
    """Return an environment without this checkout, in which uv and pipx keep what they install in a folder."""
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    return {
        **kept,
        "UV_TOOL_DIR": str(folder / "tools"),
        "UV_TOOL_BIN_DIR": str(folder / "bin"),
        "UV_PYTHON_DOWNLOADS": "never",
        "PIPX_HOME": str(folder / "pipx"),
        "PIPX_BIN_DIR": str(folder / "bin"),
        "PIP_CONSTRAINT": str(folder / "constraints.txt"),
        "COLUMNS": "200",
    }


def installed(installer: str, wheel: Path, folder: Path) -> list[str]:
    """Install a wheel as people do, at the locked versions of what it needs; return how the command is called."""
    versions = [line.partition("\\")[0] for line in LOCK.read_text(encoding="utf-8").splitlines() if "==" in line]
    (folder / "constraints.txt").write_text("\n".join(versions), encoding="utf-8")
    uvx = [uv.find_uv_bin(), "tool", "run", "--python", sys.executable]
    if installer == "uvx":
        return [*uvx, "--constraints", str(folder / "constraints.txt"), "--from", str(wheel), "levelfield"]
    if installer == "pipx":
        subprocess.run(
            [*uvx, "pipx", "install", "--python", sys.executable, str(wheel)], env=environment(folder), check=True
        )
        return [str(folder / "bin" / "levelfield")]
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], env=environment(folder), check=True)
    return [str(folder / "venv" / "bin" / "levelfield")]


@pytest.mark.docker
@pytest.mark.parametrize(
    "installer",
    ["uvx", pytest.param("pip", marks=pytest.mark.extended), pytest.param("pipx", marks=pytest.mark.extended)],
)
def test_what_is_installed_measures_without_a_checkout(
    built: tuple[Path, Path], installer: str, tmp_path: Path
) -> None:
    command = installed(installer, built[0], tmp_path)
    asked = ("bench", "--profile", "smoke", "--models", "mlp", "--scenarios", "latency", "--backends", "onnxruntime")
    done = subprocess.run(
        [*command, *asked], cwd=tmp_path, env=environment(tmp_path), check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (report,) = (tmp_path / "reports").glob("*/report.html")
    assert f"Report: {report.relative_to(tmp_path)}" in done.stdout
    checked = run("verify", report, folder=tmp_path)
    assert checked.code == 0, checked.out
    assert checked.out.startswith("Consistent, but unsigned")
