import errno
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from levelfield import paths
from levelfield.errors import LevelfieldError


def test_the_cache_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEVELFIELD_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert paths.cache_root() == tmp_path / "xdg" / "levelfield"
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "mine"))
    assert paths.cache_folder("wheels") == tmp_path / "mine" / "wheels"
    monkeypatch.setattr("os.getuid", lambda: 1000)  # of root, workers are another user
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "private"))
    assert stat.filemode(paths.cache_folder("wheels").parent.stat().st_mode) == "drwx------"


def test_a_cache_that_cannot_be_made_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(LevelfieldError, match="cannot be made: Not a directory") as caught:
        paths.cache_root()
    assert "LEVELFIELD_CACHE" in caught.value.fix
    assert caught.value.exit_code == 2


def test_only_folders_that_clean_knows_can_be_made() -> None:
    with pytest.raises(ValueError, match="CACHE_FOLDERS"):
        paths.cache_folder("elsewhere")


def test_a_full_disk_is_one_sentence_and_other_errors_stay() -> None:
    with pytest.raises(LevelfieldError, match=r"The disk is full \(/dev/full\)") as caught, paths.disk_space():
        raise OSError(errno.ENOSPC, "No space left on device", "/dev/full")
    assert "levelfield images clean" in caught.value.fix
    with pytest.raises(FileNotFoundError), paths.disk_space():
        raise FileNotFoundError(errno.ENOENT, "gone")


def test_the_recipes_are_found_in_a_checkout_and_in_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (paths.images_root() / "catalogue.toml").is_file()
    monkeypatch.setattr(paths, "package_root", lambda: tmp_path / "site-packages" / "levelfield")
    with pytest.raises(LevelfieldError, match="recipes are missing"):
        paths.images_root()
    packaged = tmp_path / "site-packages" / "levelfield" / "_images"
    packaged.mkdir(parents=True)
    (packaged / "catalogue.toml").touch()
    assert paths.images_root() == packaged


HELD = "from levelfield.paths import temporary_folder as t\nwith t('held') as f: print(f, flush=True); input()"


def test_the_temporary_folder_of_a_killed_process_goes_with_the_next_one_and_a_live_ones_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    (tmp_path / "temporary" / "thesis").mkdir(parents=True)  # a folder of the same name, of somebody else
    with paths.temporary_folder("mine"):
        assert (tmp_path / "temporary" / "thesis").is_dir()
    assert not (tmp_path / "temporary" / paths.MARK).exists()
    shutil.rmtree(tmp_path / "temporary")
    command = [sys.executable, "-c", HELD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as living:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as killed:
            stays, goes = (Path(one.stdout.readline().strip()) for one in (living, killed) if one.stdout)
            (goes / "half").write_text("a file")
            killed.send_signal(signal.SIGKILL)
        assert goes.is_dir()
        with paths.temporary_folder("mine") as mine:
            assert sorted(each for each in (tmp_path / "temporary").iterdir() if each.is_dir()) == sorted([stays, mine])
        living.communicate("\n")
    assert {each.name for each in (tmp_path / "temporary").iterdir()} == {paths.MARK, ".lock"}
    assert (tmp_path / "temporary") in paths.folders_to_clean()[0]


ABANDONED = """import threading
from levelfield.paths import temporary_folder

def held():
    with temporary_folder("held") as folder:
        (folder / "half").write_text("a file")
        begun.set()
        threading.Event().wait()

begun = threading.Event()
threading.Thread(target=held, daemon=True).start()
begun.wait()
"""


def test_a_folder_that_could_not_be_removed_goes_with_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    with monkeypatch.context() as busy, paths.temporary_folder("busy") as left:
        busy.setattr(paths, "remove_tree", lambda _: None)  # a thread still wrote into it
    assert left.is_dir()
    with paths.temporary_folder("next"):
        assert not left.exists()


def test_the_temporary_folder_of_a_thread_goes_with_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt ends the command while its threads fetch and build."""
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    subprocess.run([sys.executable, "-c", ABANDONED], check=True)
    assert not any(each.is_dir() for each in (tmp_path / "temporary").iterdir())
    with paths.temporary_folder("next"):  # also what a program that the thread waited for has put there since
        pass
    assert {each.name for each in (tmp_path / "temporary").iterdir()} == {paths.MARK, ".lock"}


def test_what_a_worker_nested_however_deep_is_removed(cache: Path) -> None:
    with paths.temporary_folder("deep") as folder:
        python = f"import os; os.chdir({str(folder)!r}); [(os.mkdir('d'), os.chdir('d')) for _ in range(3000)]"
        subprocess.run([sys.executable, "-c", python], check=True)
    assert not folder.exists()
    assert (cache / "temporary").is_dir()


def test_looking_for_folders_to_clean_makes_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "cache"))
    assert paths.folders_to_clean() == ((), ())
    assert not (tmp_path / "cache").exists()


def test_the_digest_of_the_tool_is_of_templates_and_scripts_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page of another template is one of other sources, not a forged one."""
    monkeypatch.setattr(paths, "package_root", lambda: tmp_path)
    digests = set()
    for name in ("", "a.py", "page.html.j2", "closer.js", "page.css"):
        if name:
            (tmp_path / name).touch()
        digests.add(paths.tool_sha256.__wrapped__())
    assert len(digests) == 5


def test_a_key_that_a_power_cut_emptied_is_made_anew(cache: Path) -> None:
    known = paths.installation_key()
    assert paths.installation_key() == known
    (cache / "installation.key").write_bytes(b"")
    assert len(paths.installation_key()) == len(known)
    assert paths.installation_key() != known
