import hashlib
import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import unpacking
from tests import debs
from tests.debs import entry, files

NEWEST_S = 1_700_000_000


def _unpack(packages: Iterable[Path]) -> tuple[str, dict[str, tuple[tarfile.TarInfo, bytes]]]:
    target = io.BytesIO()
    layer = unpacking.unpack(packages, NEWEST_S, target)
    assert layer.diff_id == "sha256:" + hashlib.sha256(target.getvalue()).hexdigest()
    target.seek(0)
    found = {}
    with tarfile.open(fileobj=target) as archive:
        for header in archive:
            stream = archive.extractfile(header) if header.isreg() else None
            found[header.name] = header, stream.read() if stream else b""
    return layer.diff_id, found


@pytest.fixture
def everything(tmp_path: Path) -> list[Path]:
    """Packages with whatever a base may hold: all that `configure` reads, links, rights and names of all kinds."""
    origins = dict.fromkeys([*unpacking._COPIES.values(), *unpacking._ALTERNATIVES.values()], b"origin\n")
    origins |= {needed: b"needed\n" for _, needed in unpacking._LINKS.values()}
    origins |= {f"{unpacking._CERTIFICATES}/{name}.crt": name.encode() + b"\n" for name in ("Zoë", "Alpha")}
    origins |= {"usr/lib/python3.11/os.py": b"pass\n", "usr/share/doc/base/copyright": b"licence"}
    folders = [(entry("usr/lib/python3.11", folder=True), b""), (entry("bin", folder=True), b"")]
    tools = [
        (entry("bin/tool", mode=0o4755), b"\x7fELF"),
        (entry("bin/again", link="./bin/tool", hard=True), b""),
        (entry("usr/bin/other", link="tool"), b""),
        *files({"etc/tool.conf": b"on\n", "usr/share/man/man1/tool.1": b".TH", "usr/share/locale/de/tool.mo": b"de"}),
        *files({f"usr/share/{'long/' * 40}name": b"far"}),
    ]
    scripts = {"conffiles": b"/etc/tool.conf\n", "md5sums": b"0 bin/tool\n", "postinst": b"#!/bin/sh\n"}
    return [
        debs.write(tmp_path / "base_1.0_all.deb", [*folders, *files(origins)]),
        debs.write(tmp_path / "tool_2.0_amd64.deb", tools, control="Multi-Arch: same\n", scripts=scripts),
    ]


def test_rules_change_with_their_number(cache: Path, everything: list[Path]) -> None:
    """A base is named by its packages and this number: where the bytes change, raise the number and note both here."""
    digest, _ = _unpack(everything)
    assert (unpacking.RULES, digest) == (1, "sha256:e0f9b5313fe207208c1cc2e51a4fba8e1055e2264983be86220f37b18216fd86")


def test_files_of_packages_stand_where_a_merged_file_system_has_them(cache: Path, everything: list[Path]) -> None:
    _, found = _unpack(everything)
    header, content = found["usr/bin/tool"]
    assert content == b"\x7fELF"
    assert (header.mode, header.uid, header.uname) == (0o755, 0, "")
    assert found["usr/bin/again"][0].linkname == "usr/bin/tool"
    assert found["usr/bin/again"][0].islnk()
    assert list(found)[-1] == "usr/bin/again"
    assert found["bin"][0].linkname == "usr/bin"
    assert not any(path.startswith("bin/") for path in found)
    assert all(path.rpartition("/")[0] in {"", *found} for path in found)
    assert max(header.mtime for header, _ in found.values()) == NEWEST_S


def test_dpkg_finds_what_is_installed(cache: Path, everything: list[Path], tmp_path: Path) -> None:
    _, found = _unpack(everything)
    assert found["var/lib/dpkg/info/tool:amd64.list"][1].splitlines()[:3] == [b"/.", b"/bin/tool", b"/bin/again"]
    assert found["var/lib/dpkg/info/tool:amd64.md5sums"][1] == b"0 bin/tool\n"
    status = found["var/lib/dpkg/status"][1]
    assert status.count(b"Status: install ok installed") == 2
    checksum = hashlib.md5(b"on\n").hexdigest()
    assert f"Conffiles:\n /etc/tool.conf {checksum}\n".encode() in status


def test_what_scripts_would_have_done_is_there(cache: Path, everything: list[Path]) -> None:
    _, found = _unpack(everything)
    assert found["etc/passwd"][1] == b"origin\n"
    assert found["etc/alternatives/cc"][0].linkname == "/usr/bin/gcc"
    assert found["usr/bin/cc"][0].linkname == "/etc/alternatives/cc"
    assert found["etc/ssl/certs/ca-certificates.crt"][1] == "Alpha\nZoë\n".encode()
    assert found["usr/local/lib/python3.11/dist-packages"][0].isdir()
    assert (found["var/run"][0].linkname, found["tmp"][0].mode) == ("/run", 0o1777)


def test_two_packages_with_one_file_are_refused(cache: Path, tmp_path: Path) -> None:
    both = [debs.write(tmp_path / f"{name}_1.0_all.deb", files({"etc/file": b""})) for name in ("one", "two")]
    with pytest.raises(LevelfieldError, match=r"Two packages of the base hold etc/file\."):
        _unpack(both)


@pytest.mark.parametrize(
    ("package", "reason"),
    [
        ({"data": [(entry("../etc/passwd"), b"root")]}, "leads out"),
        ({"data": [(entry("etc/link", link="/tmp"), b""), (entry("etc/link/file"), b"")]}, "etc/link, which is no"),
        ({"data": [], "suffix": ".zst"}, "compression is zst"),
    ],
)
def test_a_package_that_cannot_be_unpacked_is_named(
    package: dict[str, object], reason: str, cache: Path, tmp_path: Path
) -> None:
    with pytest.raises(LevelfieldError, match=reason):
        _unpack([debs.write(tmp_path / "odd_1.0_all.deb", **package)])  # type: ignore[arg-type]


def test_a_package_that_was_cut_off_is_named(cache: Path, everything: list[Path]) -> None:
    everything[0].write_bytes(everything[0].read_bytes()[:-300])
    with pytest.raises(LevelfieldError, match=r"base_1\.0_all\.deb cannot be unpacked"):
        _unpack(everything)


@pytest.mark.parametrize(
    ("umask", "environment"),
    [(0o077, {"LC_ALL": "C", "TZ": "Asia/Tokyo"}), (0o000, {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "TZ": "UTC"})],
)
def test_the_bytes_do_not_depend_on_the_machine(
    umask: int, environment: dict[str, str], cache: Path, everything: list[Path]
) -> None:
    program = (
        "import io, pathlib, sys; from levelfield.images import unpacking; "
        f"print(unpacking.unpack(map(pathlib.Path, sys.argv[1:]), {NEWEST_S}, io.BytesIO()).diff_id)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, *map(str, everything)],
        capture_output=True,
        text=True,
        check=True,
        umask=umask,
        env=os.environ | environment,
    )
    assert result.stdout.strip() == _unpack(everything)[0]
