"""Nothing is written or published through the links of a folder that was copied from elsewhere."""

import ast
import shlex
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from levelfield import untrusted
from levelfield.cli.main import cli
from levelfield.compare import baselines
from levelfield.errors import LevelfieldError
from levelfield.images import bundle
from levelfield.record import files, journal
from levelfield.run import bench
from levelfield.run.upgrade import store
from levelfield.share import statement
from tests.commands import modules_with
from tests.share.evidence import leave, small

OUTSIDE = "outside"
FILES = (
    f"a-run/{files.JOURNAL}", "a-run/summary.json", f"a-run/{statement.NAME}", f"a-run/{statement.SIGNATURE}",
    ".levelfield-can-write", ".b.tar.partial", ".report.html.partial",
)  # fmt: skip
FOLDERS = (baselines.FOLDER, "upgrades", "fleets", "a-run/sbom", "linked-run")
COMMANDS = (
    "report a-run", "baseline set good a-run", "history", "publish reports --out site",
    "export a-run --record record.json", "verify reports/a-run --page page.html",
)  # fmt: skip


OTHER = msgspec.structs.replace(small(), id="20261121-101501-standard")


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of reports whose every other name is a link to a file or a run elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "cache"))
    reports = leave(small(), tmp_path / "reports" / "a-run").parent
    leave(OTHER, reports / "b-run")
    private = leave(small(), tmp_path / OUTSIDE)
    (private / "summary.json").write_text("private")
    for place in (*FILES, *FOLDERS):
        link = reports / place
        if link.is_dir():
            link.rename(tmp_path / "was")
            (tmp_path / "was").rename(private / "was-sbom")
        link.unlink(missing_ok=True)
        link.symlink_to(private if place in FOLDERS else private / "summary.json")
    return reports


def content_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("command", ["publish", "history", "bench --dry-run", "baseline list"])
@pytest.mark.parametrize("name", ["reports", "site"])
def test_no_default_folder_is_a_link_to_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, name: str
) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / name).symlink_to("../private")
    monkeypatch.chdir(tmp_path / "clone")
    done = CliRunner().invoke(cli, shlex.split(command))
    if name == "reports" or command == "publish":
        assert isinstance(done.exception, LevelfieldError)
        assert f"{name} is a link that leads out of this folder" in str(done.exception)
    assert list((tmp_path / "private").iterdir()) == []


def test_no_command_writes_or_publishes_what_a_link_leads_to(stranger: Path) -> None:
    outside = stranger.parent / OUTSIDE
    before = content_of(outside)
    for command in COMMANDS:
        done = CliRunner().invoke(cli, shlex.split(command))
        assert done.exception is None or isinstance(done.exception, SystemExit | LevelfieldError), (command, done)
        assert content_of(outside) == before, command
    assert [path.name for path in files.runs_in(stranger)] == ["a-run", "b-run"]
    assert [path.name for path in (stranger.parent / "site" / "runs").iterdir()] == [OTHER.id]


def test_no_file_of_a_fixed_name_is_written_through(stranger: Path) -> None:
    outside = stranger.parent / OUTSIDE
    before = content_of(outside)
    bench._writable(stranger)
    bundle._write({}, stranger / "b.tar")
    with pytest.raises(LevelfieldError, match="a link leads out of"):
        baselines.define("good", [stranger / "a-run" / "report.html"], stranger)
    with pytest.raises(LevelfieldError, match="a link leads out of"):
        store._ALL.make_folder("mine", stranger)
    with pytest.raises(LevelfieldError, match="a link to a file outside"):
        journal.read(stranger / "a-run" / files.JOURNAL)
    with pytest.raises(LevelfieldError, match="is a link, and no run's own folder"):
        store.folder_of("linked-run", stranger)
    assert content_of(outside) == before
    assert (stranger / "b.tar").stat().st_size > 0
    assert not (stranger / "b.tar").is_symlink()


def test_a_link_in_the_place_of_a_new_file_gives_nobody_rights(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.touch(0o600)
    with files.fresh_file(tmp_path / "page.html"):
        (temporary,) = tmp_path.glob(".page*")
        temporary.unlink()
        temporary.symlink_to(secret)
    assert secret.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["page.html", "runs/one/page.html"])
def test_no_link_is_followed_below_a_folder_of_somebody_else(tmp_path: Path, name: str) -> None:
    private, site = tmp_path / "private", tmp_path / "site"
    private.mkdir(0o700)
    (private / "page.html").write_text("private")
    site.mkdir()
    if "/" in name:
        (site / "runs").mkdir()
        (site / "runs" / "one").symlink_to(private)
        with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
            untrusted.write_inside(site, name, b"new")
    else:
        (site / name).symlink_to(private / "page.html")
        untrusted.write_inside(site, name, b"new")
        assert (site / name).read_bytes() == b"new"
    untrusted.remove_inside(site, name)
    assert (private / "page.html").read_text() == "private"
    assert private.stat().st_mode & 0o777 == 0o700


CHANGES_RIGHTS = {
    "images/debian", "images/worker_code", "prepare/artifacts", "schedule/launches", "untrusted",
    "levelfield_loadgen/library",
}  # fmt: skip
"""Modules that change rights by a name: of the cache, and of temporary folders of this process."""


def test_rights_are_changed_of_open_files_alone() -> None:
    called = {"chmod", "lchmod", "copymode", "copystat", "copy2", "copytree"}
    assert modules_with(lambda call: isinstance(call, ast.Attribute) and call.attr in called) == CHANGES_RIGHTS


def test_a_link_to_a_run_that_a_person_names_is_followed(stranger: Path) -> None:
    assert CliRunner().invoke(cli, ["export", "linked-run", "--csv", "-"]).exit_code == 0


PLAIN = {
    "the cache, or a temporary folder of this process": (
        "backends/tensorrt", "images/base", "images/build", "images/bundle", "images/debian", "images/environments",
        "images/fetching", "images/loading", "images/published", "images/version_locks", "images/wheels",
        "images/worker_code", "launchers/disk_limit", "launchers/volumes", "paths", "prepare/own_model/store",
        "share/site", "share/statement", "levelfield_fleet/run/local", "levelfield_fleet/run/node",
        "levelfield_litert/export", "levelfield_ncnn/graph",
    ),
    "this checkout": ("images/catalogue", "images/debian", "images/locks"),
    "a file that the user named": ("cli/completion", "record/files"),
}  # fmt: skip
"""By where they write: the modules that write a file otherwise than by `record.files.fresh_file`."""


def writes_plainly(call: ast.AST) -> bool:
    """Whether a call writes a file under its own name, through a link that lies there."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    given = (*call.args, *(each.value for each in call.keywords))
    parts = [part for each in given for part in ast.walk(each) if isinstance(part, ast.Constant)]
    modes = {part.value for part in parts if isinstance(part.value, str) and set(part.value) & set("wax+")}
    written = call.func.attr in {"write_bytes", "touch", "copyfile", "copy2", "symlink_to"}
    text = call.func.attr == "write_text" and ast.unparse(call.func.value) != "formatter"
    opened = call.func.attr == "open" and any(set(mode) <= set("rwaxbt+") for mode in modes)
    archive = ast.unparse(call.func) == "tarfile.open" and any(each.arg == "fileobj" for each in call.keywords)
    return written or text or (opened and not archive)


def test_what_writes_plainly_is_known_to_write_to_a_folder_of_ones_own() -> None:
    assert modules_with(writes_plainly) == {module for modules in PLAIN.values() for module in modules}
