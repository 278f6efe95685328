"""Plain files only, without waiting, and never more than was asked for."""

import ast
import importlib
import inspect
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import msgspec.inspect
import psutil
import pytest

from levelfield import untrusted
from levelfield.errors import LevelfieldError
from levelfield.record import files
from tests.commands import ROOT, modules_with, python
from tests.share.evidence import leave, small


def test_a_plain_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    assert untrusted.read_plain(tmp_path / "file", 7) == b"content"


def test_more_than_the_most_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    with pytest.raises(untrusted.TooLargeError, match="longer than 6 bytes"):
        untrusted.read_plain(tmp_path / "file", 6)


def test_a_file_without_a_size_is_read_to_its_end_and_no_further() -> None:
    """Files of /proc say that they are empty, and so does one that grows at this moment."""
    content = Path("/proc/self/smaps").read_bytes()
    assert len(untrusted.read_plain(Path("/proc/self/smaps"), 1 << 24)) > len(content) // 2
    with pytest.raises(untrusted.TooLargeError):
        untrusted.read_plain(Path("/proc/self/smaps"), 100)


def test_a_sparse_file_takes_no_memory(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(untrusted.TooLargeError):
        untrusted.read_plain(tmp_path / "file", 1 << 20)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "socket", "link to a pipe"])
def test_what_is_no_plain_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "it"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path = Path("/dev/zero")
        case "folder":
            path.mkdir()
        case "socket":
            with socket.socket(socket.AF_UNIX) as line:
                line.bind(str(path))
        case _:
            os.mkfifo(tmp_path / "pipe")
            path.symlink_to(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a plain file"):
        untrusted.read_plain(path, 1 << 20)


def test_a_name_that_no_file_can_have_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no file has a NUL in its name"):
        untrusted.read_plain(tmp_path / "a\0b", 7)


def test_links_are_followed_or_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert untrusted.read_plain(tmp_path / "link", 7) == b"content"
    with pytest.raises(OSError, match="it is a link"):
        untrusted.read_plain(tmp_path / "link", 7, follow_links=False)


def link(path: Path, target: str | Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return path


def test_no_link_leaves_a_folder(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    folder = tmp_path / "given" / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "file").write_bytes(b"content")
    (tmp_path / "given" / "folder-beside").write_bytes(b"secret")
    link(tmp_path / "name", folder)
    for named in (folder, tmp_path / "name"):
        assert untrusted.read_plain(named / "deep" / "file", 7, inside=named) == b"content"
    assert untrusted.read_plain(link(folder / "within", "deep/file"), 7, inside=folder) == b"content"
    before = psutil.Process().num_fds()
    for path in (
        link(folder / "out", "../../secret"),
        link(folder / "far", tmp_path / "secret"),
        link(folder / "twice", "out"),
        link(folder / "up", "../..") / "secret",
        folder / ".." / "folder-beside",
    ):
        assert path.exists()
        with pytest.raises(OSError, match="a file outside of its folder"):
            untrusted.open_plain(path, inside=folder)
    assert psutil.Process().num_fds() == before


def test_a_record_is_no_link_out_of_its_run(tmp_path: Path) -> None:
    """A folder of a stranger, put among runs of one's own, must not let `publish` show another one."""
    private = leave(small(), tmp_path / "private" / "run")
    run = tmp_path / "reports" / "run"
    link(run / "report.html", private / "report.html")
    with pytest.raises(LevelfieldError, match="a link to a file outside of its folder"):
        files.read(run)
    link(tmp_path / "latest.html", private / "report.html")
    link(tmp_path / "reports" / "linked", private)
    assert files.read(tmp_path / "latest.html") == files.read(tmp_path / "reports" / "linked") == small()


def test_a_device_is_not_even_opened() -> None:
    """Of some, opening alone has consequences: /dev/watchdog restarts the machine."""
    trace = "import sys\nfrom pathlib import Path\nfrom levelfield import untrusted\n"
    trace += "opened = []\nsys.addaudithook(lambda event, given: opened.append(given) if event == 'open' else None)\n"
    trace += "try:\n    untrusted.open_plain(Path('/dev/zero'))\nexcept OSError as error: print(error)\n"
    trace += "import os\nassert all(given[2] & os.O_PATH for given in opened if given[0] == '/dev/zero'), opened"
    assert "not a plain file" in python(trace)


def test_links_of_the_hubs_cache_stay_in_their_models_folder(tmp_path: Path) -> None:
    for model in ("one", "other"):
        (tmp_path / model / "blobs").mkdir(parents=True)
        (tmp_path / model / "blobs" / "0").write_bytes(b"content")
    (tmp_path / "one" / "refs").write_bytes(b"secret")
    snapshot = tmp_path / "one" / "snapshots" / "1"
    for file in (link(snapshot / "a", "../../blobs/0"), link(snapshot / "onnx" / "a", "../../../blobs/0")):
        assert untrusted.read_plain(file, 7, inside=file.parent) == b"content"
    link(tmp_path / "one" / "blobs" / "1", "/etc/passwd")
    for number, target in enumerate(("../../../other/blobs/0", "../../refs", "../../blobs/1")):
        with pytest.raises(OSError, match="a file outside of its folder"):
            untrusted.open_plain(link(snapshot / str(number), target), inside=snapshot)


def test_a_copy_is_for_workers_and_their_user_alone(tmp_path: Path) -> None:
    (tmp_path / "copy").touch()
    for path, mode in ((tmp_path / "copy", 0o600), (tmp_path, 0o700)):
        path.chmod(0o777)
        untrusted.limit_access(path)
        assert path.stat().st_mode & 0o777 == mode
        assert path.stat().st_uid == (os.getuid() or untrusted.NOBODY)


OTHERWISE = {
    "family.config": "tuple[tuple(each.config for each in FAMILIES.values())]",
    "type(sizes)": "int",  # bounds of our own values
    "spec.Sizes": "int",
}
"""Types that are known at run time alone."""


def evaluated(text: str, module: ModuleType) -> Any:
    try:
        return eval(text, vars(module)) if "(" not in text or text in OTHERWISE.values() else text
    except (NameError, AttributeError, LookupError, TypeError):
        return text


def decoded() -> Iterator[Any]:
    """Yield every type that the suite and its plug-ins decode; of one that is passed on, the parameter's name."""
    # What makes typed values, and which argument says the type, where none is called so; the last four pass it on.
    known = {msgspec.json.decode: 1, msgspec.json.Decoder: 0, msgspec.msgpack.Decoder: 0, msgspec.convert: 1}
    passing = {untrusted.convert: 1, importlib.import_module("levelfield_readers.recorded").decode: 1}
    decoders: dict[Any, int] = {**known, **passing, "self._computed": 1, "self._call": 2}
    for file in (*(ROOT / "suite").rglob("*.py"), *(ROOT / "plugins").glob("*/levelfield_*/**/*.py")):
        text = file.read_text()
        if not re.search(r"(json\.decode|json\.Decoder|pack\.Decoder|[^.]decode|convert|_computed|_call)\(", text):
            continue
        parts = file.relative_to(ROOT).with_suffix("").parts[1:]
        name = ".".join(parts[parts[0] != "levelfield" :]).removesuffix(".__init__")
        for call in (each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Call)):
            at = decoders.get(evaluated(ast.unparse(call.func), module := importlib.import_module(name)), 99)
            given = [*(each.value for each in call.keywords if each.arg == "type"), *call.args[at : at + 1]][: at < 99]
            yield from (evaluated(OTHERWISE.get(said := ast.unparse(each), said), module) for each in given)


def structs(kind: object) -> Iterator[msgspec.inspect.StructType]:
    """Every struct that a type holds."""
    seen: set[object] = set()
    left = [kind]
    while left:
        item = left.pop()
        if isinstance(item, msgspec.inspect.StructType):
            if item.cls in seen:
                continue
            seen.add(item.cls)
            yield item
            left += [field.type for field in item.fields]
        left += [getattr(item, name) for name in ("item_type", "key_type", "value_type") if hasattr(item, name)]
        left += [each for name in ("types", "item_types") for each in getattr(item, name, ())]


def test_every_struct_that_is_decoded_forbids_unknown_fields() -> None:
    """Those of other programs' files say in so many words that they do not."""
    found = list(decoded())
    types = [each for each in found if not isinstance(each, str)]
    assert len(types) > 40
    assert set(found) - set(types) == {"kind", "type_"}
    held = {
        each.cls
        for kind in types
        for each in structs(msgspec.inspect.type_info(kind))
        if not each.forbid_unknown_fields
    }
    assert [each for each in held if "forbid_unknown_fields=False" not in inspect.getsource(each)] == []


PLAIN = {
    "this checkout, an installed package or plug-in": (
        "cli/main", "compatibility/gate", "images/base", "images/build", "images/bundle", "images/catalogue",
        "images/debian", "images/locks", "images/registries", "images/worker_code", "paths", "prepare/artifacts",
        "report/pages", "share/site", "zoo/digits/__init__", "levelfield_fleet/html", "levelfield_loadgen/library",
    ),
    "the cache, or a temporary folder of this process": (
        "images/fetching", "images/loading", "images/unpacking", "images/version_locks", "images/wheels",
        "launchers/volumes", "prepare/own_model/python_file", "prepare/own_model/store", "prepare/own_weights/store",
        "zoo/dataset", "zoo/inputs", "zoo/weights", "levelfield_datasets/preparing", "levelfield_fleet/run/images",
        "levelfield_fleet/run/local",
    ),
    "this machine's kernel, its programs' settings, or the user's": (
        "cli/completion", "launchers/container_channel", "machine/counters", "machine/engine", "machine/reading",
        "record/append_only",
    ),
    "in a worker": (
        "backends/canary", "backends/onnxruntime", "backends/profiling/onnxruntime", "backends/profiling/torch",
        "backends/profiling/xplane", "backends/tensorrt", "worker/libraries", "worker/probes", "worker/sources",
        "zoo/onnx_export", "levelfield_loadgen/inside",
    ),
}  # fmt: skip
"""By whose files they read: the modules that read a file otherwise than by `levelfield.untrusted`."""


def reads_plainly(call: ast.AST) -> bool:
    """Whether a call reads a file whole, or opens it by its path for reading; or parses TOML, in time without bound."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    name, constants = ast.unparse(call.func), [each.value for each in call.args if isinstance(each, ast.Constant)]
    modes = [each for each in constants if isinstance(each, str) and set(each) <= set("rbt+")]
    opened = call.func.attr == "open" and (bool(modes) or not (call.args or call.keywords))
    return opened or name.startswith("tomllib.load") or call.func.attr in {"read_text", "read_bytes"}


def test_what_reads_plainly_is_known_to_read_what_is_no_stranger_s() -> None:
    assert modules_with(reads_plainly) - {"untrusted"} == {module for modules in PLAIN.values() for module in modules}


def test_what_a_folder_of_locks_holds_is_not_parsed_plainly() -> None:
    """`images.debian` reads this checkout's own files, too."""
    functions = ast.parse((ROOT / "suite" / "levelfield" / "images" / "debian.py").read_text()).body
    plain = {
        each.name for each in functions if isinstance(each, ast.FunctionDef) and any(map(reads_plainly, ast.walk(each)))
    }
    assert plain == {"_public", "_of_host", "_with_sha1"}


MEETING = """
import faulthandler, threading
from levelfield.images import debian
faulthandler.enable()
gate = threading.Barrier(8)
found = []
def meet():
    gate.wait()
    found.append(debian.read_lock())
threads = [threading.Thread(target=meet) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(found) == 8 and len({len(lock.packages) for lock in found}) == 1
"""


def test_threads_may_meet_a_type_at_once() -> None:
    """Without one waiting for the other, one process in forty crashed."""
    for _ in range(3):
        python(MEETING)
