"""A stand-in on PATH prints what a real nvidia-smi printed; no GPU was asked."""

from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.machine import nvidia_smi
from levelfield.machine.fingerprint import fingerprint
from levelfield.record.schema import Absent

FOLDER = Path(__file__).parent / "data"
FILES = sorted(path.name for path in FOLDER.glob("*.xml"))
RECORDED = FOLDER / "nvidia-smi-v13-rtx-3080.xml"
UNREPORTED = Absent("this nvidia-smi does not report it")


def content(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


T4 = content("nvidia-smi-v11-tesla-t4.xml")


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


def test_facts_have_their_units_and_the_older_and_newer_names() -> None:
    t4, rtx = nvidia_smi.parse(T4), nvidia_smi.parse(content("nvidia-smi-v13-rtx-3080.xml"))
    assert (t4["device 0 default power limit mW"], rtx["device 0 default power limit mW"]) == (70000, 320000)
    assert (t4["device 0 application graphics clock MHz"], t4["device 0 pending ECC"]) == (585, "Enabled")
    assert rtx["device 0 recovery action"] == "None"


def test_what_a_driver_does_not_know_is_absent_with_what_it_says() -> None:
    rtx = nvidia_smi.parse(content("nvidia-smi-v13-rtx-3080.xml"))
    assert rtx["device 0 pending MIG"] == Absent("nvidia-smi says N/A")
    deprecated = Absent("nvidia-smi says Requested functionality has been deprecated")
    assert rtx["device 0 application graphics clock MHz"] == deprecated
    assert nvidia_smi.parse(content("nvidia-smi-v10-gtx-1070-ti.xml"))["device 0 GSP firmware"] == UNREPORTED


@pytest.mark.parametrize("said", [b"[Not Supported]", b"[N/A]", b"Unknown Error", b"", b"70.00 kW", b"-1 W"])
def test_no_number_is_made_of_words(said: bytes) -> None:
    spoiled = T4.replace(b"<default_power_limit>70.00 W<", b"<default_power_limit>" + said + b"<")
    assert spoiled != T4
    assert isinstance(nvidia_smi.parse(spoiled)["device 0 default power limit mW"], Absent)


@pytest.mark.parametrize("name", FILES)
def test_nothing_that_names_a_device_or_process_is_kept(name: str) -> None:
    found = str(nvidia_smi.parse(content(name)))
    assert "GPU-" not in found
    assert "REDACTED" not in found
    assert "process" not in found.lower()


def laughs(count: int) -> bytes:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, count))
    head = f'<!DOCTYPE nvidia_smi_log [<!ENTITY e0 "ha">{entities}]>'
    return f"<?xml version='1.0'?>{head}<nvidia_smi_log><gpu><a>&e{count - 1};</a></gpu></nvidia_smi_log>".encode()


@pytest.mark.parametrize(
    "spoiled",
    [
        laughs(1),
        laughs(10),
        b'<!DOCTYPE nvidia_smi_log SYSTEM "x.dtd" [<!ELEMENT a ANY>]><nvidia_smi_log/>',
        b'<!DOCTYPE nvidia_smi_log [<!ENTITY f SYSTEM "file:///etc/passwd">]><nvidia_smi_log>&f;</nvidia_smi_log>',
        b'<!DOCTYPE nvidia_smi_log [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]><nvidia_smi_log/>',
    ],
)
def test_a_document_type_that_declares_anything_is_refused(spoiled: bytes) -> None:
    with pytest.raises(LevelfieldError, match="its document type declares something"):
        nvidia_smi.parse(spoiled)


@pytest.mark.parametrize(
    ("spoiled", "says"),
    [
        (T4[:5000], "no element found|unclosed token"),
        (b"", "no element found"),
        (b"\x00" * 10, "cannot be read"),
        (b'<?xml version="1.0" encoding="utf-99"?><nvidia_smi_log/>', "unknown encoding"),
        (b"<html/>", "it is not the XML"),
        (b"<nvidia_smi_log>" + b"<a>" * 100 + b"</a>" * 100 + b"</nvidia_smi_log>", "it is not the XML"),
        (b"<nvidia_smi_log>" + b"<gpu/>" * 1000 + b"</nvidia_smi_log>", "it is not the XML"),
        (b"<nvidia_smi_log>" + b"<a/>" * 300_000 + b"</nvidia_smi_log>", "it is not the XML"),
    ],
)
def test_other_output_is_one_sentence(spoiled: bytes, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        nvidia_smi.parse(spoiled)
