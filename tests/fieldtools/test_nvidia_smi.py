import pytest

from suite.errors import LevelfieldError
from suite.fieldtools import nvidia_smi
from suite.record.schema import Absent
from tests.fieldtools.recorded import content, names

FILES = [name for name in names() if name.startswith("nvidia-smi")]
UNREPORTED = Absent("this nvidia-smi does not report it")
T4 = content("nvidia-smi-v11-tesla-t4.xml")


def test_a_driver_of_each_document_type_is_read() -> None:
    assert {name: nvidia_smi.parse(content(name)).version for name in FILES} == {
        "nvidia-smi-v10-gtx-1070-ti.xml": Absent("this output does not say"),
        "nvidia-smi-v11-tesla-t4.xml": "515.105.01",
        "nvidia-smi-v12-4x-a100.xml": "535.54.03",
        "nvidia-smi-v13-rtx-3080.xml": "595.58.03",
    }


def test_facts_have_their_units_and_the_older_and_newer_names() -> None:
    t4, rtx = nvidia_smi.facts(T4), nvidia_smi.facts(content("nvidia-smi-v13-rtx-3080.xml"))
    assert (t4["device 0 default power limit mW"], rtx["device 0 default power limit mW"]) == (70000, 320000)
    assert (t4["device 0 application graphics clock MHz"], t4["device 0 pending ECC"]) == (585, "Enabled")
    assert rtx["device 0 recovery action"] == "None"


def test_what_a_driver_does_not_know_is_absent_with_what_it_says() -> None:
    rtx = nvidia_smi.facts(content("nvidia-smi-v13-rtx-3080.xml"))
    assert rtx["device 0 pending MIG"] == Absent("nvidia-smi says N/A")
    deprecated = Absent("nvidia-smi says Requested functionality has been deprecated")
    assert rtx["device 0 application graphics clock MHz"] == deprecated
    assert nvidia_smi.facts(content("nvidia-smi-v10-gtx-1070-ti.xml"))["device 0 GSP firmware"] == UNREPORTED


@pytest.mark.parametrize("said", [b"[Not Supported]", b"[N/A]", b"Unknown Error", b"", b"70.00 kW", b"-1 W"])
def test_no_number_is_made_of_words(said: bytes) -> None:
    spoiled = T4.replace(b"<default_power_limit>70.00 W<", b"<default_power_limit>" + said + b"<")
    assert spoiled != T4
    assert isinstance(nvidia_smi.facts(spoiled)["device 0 default power limit mW"], Absent)


@pytest.mark.parametrize("name", FILES)
def test_nothing_that_names_a_device_or_process_is_kept(name: str) -> None:
    found = str(nvidia_smi.parse(content(name)))
    assert "GPU-" not in found
    assert "REDACTED" not in found
    assert "process" not in found.lower()


def test_no_document_type_is_needed() -> None:
    plain = T4.replace(b'<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v11.dtd">', b"")
    assert nvidia_smi.facts(plain) == nvidia_smi.facts(T4)


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


def test_an_entity_of_a_file_that_is_never_read_is_skipped() -> None:
    named = T4.replace(b"<default_power_limit>70.00 W<", b"<default_power_limit>&external;<")
    assert nvidia_smi.facts(named)["device 0 default power limit mW"] == Absent("nvidia-smi says nothing")


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
