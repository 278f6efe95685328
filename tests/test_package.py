"""Wheels and source distributions: the same bytes again, what they hold, and what they do without a checkout."""

import importlib.metadata
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import uv
from packaging.requirements import Requirement

from levelfield.images import catalogue
from levelfield.paths import locks_sha256
from tests.commands import ROOT, run

EPOCH = "1767225600"
LOCK = ROOT / "images" / "tool" / "runtime.lock"
PLUGINS = {path.parent.name: path.parent for path in sorted((ROOT / "plugins").glob("*/pyproject.toml"))}
PROJECTS = {"levelfield": ROOT} | PLUGINS
Built = dict[str, tuple[Path, Path]]
"""Wheel and source distribution of the package and of each plug-in."""


def build(source: Path, out: Path) -> tuple[Path, Path]:
    """Build a wheel and a source distribution, and return their files."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(out)], cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH}, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,), (source_distribution,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, source_distribution


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return {name: build(project, tmp_path_factory.mktemp(name)) for name, project in PROJECTS.items()}


@pytest.mark.parametrize("name", PROJECTS)
def test_a_second_build_from_the_source_distribution_has_the_same_bytes(
    built: Built, name: str, tmp_path: Path
) -> None:
    wheel, source_distribution = built[name]
    subprocess.run(["tar", "-xf", source_distribution, "-C", tmp_path], check=True)
    again = build(tmp_path / source_distribution.name.removesuffix(".tar.gz"), tmp_path / "dist")
    assert [each.name for each in again] == [wheel.name, source_distribution.name]
    assert again[0].read_bytes() == wheel.read_bytes()
    assert again[1].read_bytes() == source_distribution.read_bytes()


def test_the_wheel_holds_one_package_with_what_images_are_made_from(built: Built) -> None:
    names = zipfile.ZipFile(built["levelfield"][0]).namelist()
    recipes = {f"levelfield/_images/{path.relative_to(ROOT / 'images')}" for path in (ROOT / "images").rglob("*")}
    assert {name for name in names if name.startswith("levelfield/_images/")} <= recipes
    for name in catalogue.images():
        assert f"levelfield/_images/{name}/cpu.lock" in names or not (ROOT / "images" / name / "cpu.lock").exists()
    assert "levelfield/_images/catalogue.toml" in names
    assert "levelfield/py.typed" in names
    (metadata,) = {name.partition("/")[0] for name in names} - {"levelfield"}
    assert f"{metadata}/licenses/LICENSE" in names


def test_all_are_installed_from_files_and_found(built: Built, tmp_path: Path) -> None:
    """What they need is there already, as it is for the second distribution that somebody installs."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    needed = (Requirement(line) for line in locked())
    for name in (each.name for each in needed if each.marker is None or each.marker.evaluate()):
        there = importlib.metadata.distribution(name)
        for root in {file.parts[0] for file in there.files or ()} - {"..", *(path.name for path in site.iterdir())}:
            (site / root).symlink_to(str(there.locate_file(root)))
    (tmp_path / "constraints.txt").touch()
    bin_ = tmp_path / "venv" / "bin"
    pip = (bin_ / "python", "-m", "pip", "install", "--no-index", "--quiet")
    subprocess.run([*pip, *(wheel for wheel, _ in built.values())], env=environment(tmp_path), check=True)

    def says(*words: str) -> str:
        done = subprocess.run(
            [bin_ / "levelfield", *words], env=environment(tmp_path), check=True, stdout=subprocess.PIPE
        )
        return done.stdout.decode()

    version = says("--version")
    assert f"locks {locks_sha256()[:12]}" in version
    assert ("(commit " in version) == (ROOT / ".git").exists()
    listed = says("plugins", "list")
    assert not [name for name in PLUGINS if f"levelfield-{name}" not in listed]


def environment(folder: Path) -> dict[str, str]:
    """Return an environment without this checkout, in which uv and pipx keep what they install in a folder."""
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    return {
        **kept, "UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin"),
        "UV_PYTHON_DOWNLOADS": "never", "PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(folder / "bin"),
        "PIP_CONSTRAINT": str(folder / "constraints.txt"), "COLUMNS": "200",
    }  # fmt: skip


def locked() -> list[str]:
    """Return what the package needs, with markers: `click==8.2.1` …"""
    return [line.partition("\\")[0] for line in LOCK.read_text(encoding="utf-8").splitlines() if "==" in line]


def installed(installer: str, built: Built, folder: Path) -> list[str]:
    """Install the package as people do, at the locked versions of what it needs; return how the command is called."""
    wheel = built["levelfield"][0]
    (folder / "constraints.txt").write_text("\n".join(locked()), encoding="utf-8")
    uvx = [uv.find_uv_bin(), "tool", "run", "--python", sys.executable]
    if installer == "uvx":
        return [*uvx, "--constraints", str(folder / "constraints.txt"), "--from", str(wheel), "levelfield"]
    for words in (("install", "--python", sys.executable, wheel), ("inject", "levelfield", built["readers"][0])):
        subprocess.run([*uvx, "pipx", *map(str, words)], env=environment(folder), check=True)
    return [str(folder / "bin" / "levelfield")]


@pytest.mark.docker
@pytest.mark.parametrize("installer", ["uvx", "pipx"])
def test_what_is_installed_measures_without_a_checkout(built: Built, installer: str, tmp_path: Path) -> None:
    command = installed(installer, built, tmp_path)
    asked = ("bench", "--profile", "smoke", "--models", "mlp", "--scenarios", "latency", "--backends", "onnxruntime")
    done = subprocess.run(
        [*command, *asked], cwd=tmp_path, env=environment(tmp_path), check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (report,) = (tmp_path / "reports").glob("*/report.html")
    assert f"Report: {report.relative_to(tmp_path)}" in done.stdout
    checked = run("verify", report, folder=tmp_path, code=0)
    assert checked.out.startswith("Consistent, but unsigned")
