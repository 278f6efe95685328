"""A stand-in on PATH prints what a real nvidia-smi printed; no GPU was asked."""

from pathlib import Path

import pytest

from suite.machine import nvidia_smi
from suite.machine.fingerprint import fingerprint
from suite.record.schema import Absent
from tests.fieldtools.recorded import FOLDER

RECORDED = FOLDER / "nvidia-smi-v13-rtx-3080.xml"


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path / "nvidia-smi"


def write(program: Path, *lines: str) -> None:
    program.write_text("\n".join(("#!/bin/sh", *lines)) + "\n")
    program.chmod(0o755)


def test_the_query_is_all_that_is_run(stand_in: Path) -> None:
    write(stand_in, f'[ "$*" = "-q -x" ] && exec cat {RECORDED}', "exit 9")
    found = nvidia_smi.facts()
    assert found["device 0 default power limit mW"] == 320000
    assert found["device 0 pending ECC"] == Absent("nvidia-smi says N/A")
    assert fingerprint()["nvidia-smi"] == found


def test_it_is_absent_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert nvidia_smi.facts() == {"output": Absent("nvidia-smi is not on PATH")}


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["echo NVIDIA-SMI has failed; exit 9"], "nvidia-smi ended with 9: NVIDIA-SMI has failed"),
        (["exec sleep 30"], "nvidia-smi did not answer within 0.5 s"),
        (["echo '<nvidia_smi_log>'"], "The output of nvidia-smi cannot be read: no element found: line 2, column 0"),
        (["echo '<nvidia_smi_log/>'"], "nvidia-smi lists no GPU"),
        (["head -c 20000000 /dev/zero"], "nvidia-smi printed more than 16,777,216 bytes"),
    ],
)
def test_what_goes_wrong_is_a_reason(stand_in: Path, lines: list[str], reason: str) -> None:
    write(stand_in, *lines)
    assert nvidia_smi.facts(0.5 if "sleep" in lines[0] else nvidia_smi.LIMIT_S) == {"output": Absent(reason)}


def test_what_is_no_program_is_a_reason(stand_in: Path) -> None:
    stand_in.write_bytes(b"\x00\x01")
    stand_in.chmod(0o755)
    assert nvidia_smi.facts() == {"output": Absent("nvidia-smi cannot be run: Exec format error")}
