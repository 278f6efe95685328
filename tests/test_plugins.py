"""What installed distributions bring, and what becomes of those that are broken."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.version import Version

from levelfield.backends import registry
from levelfield.cli import help as sections
from levelfield.cli import machine
from levelfield.cli.json import listed
from levelfield.cli.main import cli
from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, worker_code
from levelfield.plan import arms
from levelfield.plugins import BACKENDS, COMMANDS, MODELS
from levelfield.run.contract import _lock
from levelfield.zoo import models
from tests import commands, plugged

_ENTRY = """
from levelfield.backends.info import FP32, BackendInfo, FileFormat

ENTRY = BackendInfo(
    name="{name}", title="T", class_name="C", package="{package}", image="{image}", reads="native",
    distribution="numpy", ways={{"cpu": {{"fp32": FP32}}}}, {more}
)
"""


_RENAMED = """
from msgspec.structs import replace
from levelfield.zoo.mlp import MODEL as MLP
MODEL = replace(MLP, name='other')
"""


def bring(
    folder: Path,
    name: str,
    *,
    code: str | None = None,
    value: str = "",
    image: str = "own",
    more: str = "",
    points: str = "",
) -> Path:
    """Install a distribution with one backend; its package is called as the distribution is."""
    package = f"brings_{name.replace('-', '_')}"
    text = _ENTRY.format(name=name, package=package, image=image, more=more) if code is None else code
    (folder / package).mkdir(parents=True)
    (folder / package / "__init__.py").write_text(text)
    plugged.metadata(folder, f"brings-{name}", "1.0", {BACKENDS: {points or name: value or f"{package}:ENTRY"}})
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder on the path, into which tests install."""
    with plugged.seen(tmp_path):
        yield tmp_path


def test_a_backend_is_found_with_its_distribution(folder: Path) -> None:
    bring(folder, "good")
    assert registry.get("good").title == "T"
    plugin = registry.plugin_of("good")
    assert plugin is not None
    assert plugin.label == "brings-good 1.0"
    assert "good" in registry.names_where_named()
    assert registry.plugin_of("torch") is None


@pytest.mark.parametrize(
    ("name", "given", "reason"),
    [
        ("bad", {"code": "import no_such_module\n"}, r"cannot be imported \(ModuleNotFoundError: No module named"),
        ("bad", {"code": "raise SystemExit(3)\n"}, r"cannot be imported \(SystemExit: 3\)"),
        ("bad", {"code": "ENTRY = {'name': 'bad'}\n"}, "is a dict and no BackendInfo"),
        ("bad", {"value": "brings_bad:OTHER"}, "cannot be imported"),
        ("bad", {"value": "no_such_package:ENTRY"}, "there is no package no_such_package"),
        ("bad", {"value": "json.decoder:ENTRY"}, "is a|cannot be imported"),
        ("bad", {"more": "process_bytes='much'"}, "a field of its BackendInfo is wrong"),
        ("bad", {"points": "other"}, "its BackendInfo is called 'bad'"),
        ("bad", {"image": "onnxruntime"}, "its image 'onnxruntime' is not one of its own"),
        ("bad", {"image": "../x"}, "is not one of its own"),
        ("bad", {"more": "format=FileFormat('onnx', 'O', 'o', 'm', 'f')"}, "its format cannot be called 'onnx'"),
        ("bad", {"more": "format=FileFormat('f', 'F', 'o', 'm', '../f')"}, "cannot be called '../f'"),
        ("bad", {"more": "format=FileFormat('f', 'F', 'torch', 'm', 'f')"}, "its image 'torch' is not one of its own"),
        ("torch", {}, "a built-in backend has this name"),
        ("bad", {"points": "Bad_Name!"}, "a name has lower-case letters"),
    ],
)
def test_a_broken_one_says_why_and_takes_no_other_down(
    folder: Path, name: str, given: dict[str, str], reason: str
) -> None:
    bring(folder / "first", name, **given)
    bring(folder / "second", "good")
    with plugged.seen(folder / "first", folder / "second"):
        (broken,) = registry.broken()
        assert registry.get("good").name == "good"
        assert broken.sentence.startswith(f"The plug-in brings-{name} 1.0 brings no backend ")
        assert re.search(reason, broken.sentence), broken.sentence
        if name == "bad" and not given.get("points"):
            with pytest.raises(LevelfieldError, match="brings no backend bad"):
                arms.parse("bad")
            with pytest.raises(LevelfieldError, match="brings no backend bad"):
                catalogue.image("bad")
            with pytest.raises(ValueError, match="brings no backend bad"):
                registry.get("bad")


def test_an_image_without_its_files_says_what_it_needs(folder: Path) -> None:
    bring(folder, "good")
    assert "own" not in catalogue.images()
    assert "torch" in catalogue.images()
    with pytest.raises(LevelfieldError, match=r"no image own: images/catalogue.toml .* does not describe it"):
        catalogue.image("own")
    (folder / "brings_good" / "images").mkdir()
    (folder / "brings_good" / "images" / "catalogue.toml").write_text("[own]\nbase = 'fat'\n")
    with pytest.raises(LevelfieldError, match=r"does not describe it \(ValidationError: Invalid enum value"):
        catalogue.image("own")
    (folder / "brings_good" / "images" / "catalogue.toml").write_text("[own]\nbase = 'slim'\n")
    with pytest.raises(LevelfieldError, match="The image own has no lock"):
        catalogue.lock("own")


def test_the_version_of_a_plug_ins_framework_is_that_of_its_lock(tmp_path: Path) -> None:
    projects = (plugged.LITERT, plugged.TVM, plugged.MXNET, plugged.NCNN)
    folders = [plugged.install(project, tmp_path / project.name) for project in projects]
    with plugged.seen(*folders):
        for name in ("litert", "tvm", "mxnet", "ncnn"):
            distribution = registry.get(name).distribution
            assert catalogue.framework(name) == distribution
            assert catalogue.current_version(name) == catalogue.lock(name).versions[distribution]
        assert [line.partition("==")[0] for line in catalogue.beside("tvm")] == ["onnx"]
    assert catalogue.beside("onnxruntime") == ()


def test_an_image_has_a_numpy_of_its_own_where_its_framework_needs_it(tmp_path: Path) -> None:
    folders = [plugged.install(project, tmp_path / project.name) for project in (plugged.TVM, plugged.MXNET)]
    with plugged.seen(*folders):
        other, own = catalogue.of_workers("tvm"), catalogue.of_workers("mxnet")
        assert [line.partition("==")[0] for line in other if line not in own] == ["numpy"]
        assert _lock("mxnet").state == _lock("tvm").state == "passed"
        lock = catalogue.lock("mxnet")
        versions = lock.versions
        assert (Version(versions["numpy"]).release[:2], lock.python) == ((1, 23), "3.11")
        assert {f"{line.partition('==')[0]}=={versions[line.partition('==')[0]]}" for line in own} == set(own)


def test_only_its_own_images_have_its_code(tmp_path: Path) -> None:
    plugged.install(plugged.TEMPLATE, tmp_path)
    with plugged.seen(tmp_path):
        own, other = worker_code.files("example"), worker_code.files("torch")
        assert "levelfield_example/example.py" in own
        assert not any("images" in name for name in own if name.startswith("levelfield_example"))
        points = own["levelfield_example-0.1.0.dist-info/entry_points.txt"].decode()
        assert "example = levelfield_example:EXAMPLE" in points
        # A model is computed in every image.
        assert "levelfield_example/linear/torch.py" in other
        assert worker_code.distributions("torch") == {"levelfield-example": "0.1.0"}
    assert worker_code.distributions("torch") == {}


def test_a_model_is_found_and_never_measured_unasked(tmp_path: Path) -> None:
    plugged.install(plugged.TEMPLATE, tmp_path)
    with plugged.seen(tmp_path):
        assert models.names()[-1] == "linear"
        assert not models.get("linear").by_default
    with pytest.raises(ValueError, match="There is no model 'linear'"):
        models.get("linear")


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("mlp", "from levelfield.zoo.mlp import MODEL", "a built-in model has this name"),
        ("other", "from levelfield.zoo.mlp import MODEL", "its Model is called 'mlp'"),
        ("other", "MODEL = 3", "is a int and no Model"),
        ("other", _RENAMED, "its folder is in levelfield.zoo"),
    ],
)
def test_a_broken_model_says_why(folder: Path, name: str, code: str, reason: str) -> None:
    package = folder / "brings_model"
    package.mkdir()
    (package / "__init__.py").write_text(code)
    plugged.metadata(folder, "brings-model", "1.0", {MODELS: {name: "brings_model:MODEL"}})
    plugged.forget()
    (broken,) = models.broken()
    assert reason in broken.sentence
    assert "torch" in registry.names()


def test_list_and_doctor_say_what_is_there_and_what_is_broken(folder: Path) -> None:
    bring(folder / "first", "good")
    bring(folder / "second", "bad", code="import no_such_module\n")
    with plugged.seen(folder / "first", folder / "second"):
        shown = commands.call("plugins", "list", folder=folder).out
        (entry,) = [each for each in listed().backends if each.name == "good"]
        finding, image = machine._broken_plugins()
    assert "backend good: brings-good 1.0\n" in shown
    assert "The plug-in brings-bad 1.0 brings no backend bad: brings_bad:ENTRY cannot be imported" in shown
    assert entry.distribution == "brings-good 1.0"
    assert finding.state == "warn"
    assert "brings-bad 1.0" in finding.message
    assert finding.fix
    assert "has no image own" in image.message
    assert "has no image own" in shown


_COMMAND = """
import click

@click.command(help="Brew coffee.")
def brew():
    print("brewed")
"""


@pytest.mark.parametrize(
    ("code", "name", "reason"),
    [
        (_COMMAND, "brew", ""),
        ("import no_such_module", "brew", "cannot be imported (ModuleNotFoundError: No module named"),
        ("brew = 3", "brew", "is a int and no Command"),
        (_COMMAND, "bench", "a built-in command has this name"),
    ],
)
def test_a_command_has_its_section_and_a_broken_one_says_why(folder: Path, code: str, name: str, reason: str) -> None:
    (folder / "brings_command").mkdir()
    (folder / "brings_command" / "__init__.py").write_text(code)
    plugged.metadata(folder, "brings-command", "1.0", {COMMANDS: {name: "brings_command:brew"}})
    environment = {"PYTHONPATH": f"{folder}:{commands.IMPORTS}"}
    helped = commands.run("--help", folder=folder, environment=environment, code=0)
    if name == "brew":
        assert "\n  brew " in helped.out.partition(f"{sections.PLUGINS}:")[2]
        done = commands.run("brew", *(["--strong"] if reason else []), folder=folder, environment=environment)
        if reason:
            commands.one_clear_sentence(done, "brings no command brew", reason)
        else:
            assert done.out == "brewed\n"
    with plugged.seen(folder):
        assert [reason in each.sentence for each in sections.broken()] == ([True] if reason else [])


def test_a_command_that_is_not_installed_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "_found", lambda: ({}, ()))
    monkeypatch.delitem(cli.commands, "fleet", raising=False)
    done = commands.call("fleet", "gather", "nodes", "--help", folder=tmp_path)
    commands.one_clear_sentence(done, "comes with levelfield-fleet", "pipx inject levelfield ./plugins/fleet")
