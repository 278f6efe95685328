"""What nvidia-smi says and NVML does not: its query is run, which changes nothing and starts no test.

The XML of `nvidia-smi -q -x` differs between drivers (`nvsmi_device_v10.dtd` to `_v13.dtd`). It is read as untrusted: a
document type may name a file, which is never opened, and may declare nothing itself, so that no entity can be expanded.

References
----------
Python, `xml.parsers.expat`: `StartDoctypeDeclHandler` reports an internal subset before any entity of it is declared,
and external files are not read without an `ExternalEntityRefHandler`.
"""

import re
import shutil
import subprocess
import tempfile
from decimal import Decimal
from typing import Final
from xml.parsers import expat

from levelfield.errors import LevelfieldError
from levelfield.machine.reading import Facts
from levelfield.record.schema import Absent
from levelfield.terminals import LARGEST, refused, tool_text

TOOL: Final = "nvidia-smi"
LIMIT_S = 20
"""Time for an answer: without persistence mode the driver first starts every GPU."""
MAX_BYTES = 16 * 1024 * 1024
"""Largest output that is read: some 60 kB for each GPU."""
_DEEPEST = 32
_MOST_TEXTS = 200_000
_MOST_GPUS = 64
_UNKNOWN = re.compile(r"\[?(N/A|Not Supported|Not Available|Unknown( Error)?|GPU is lost)\]?", re.IGNORECASE)
_DEPRECATED = "deprecated"
_TEXTS = (
    ("GSP firmware", "gsp_firmware_version"),
    ("InfoROM image", "inforom_version/img_version"),
    ("addressing mode", "addressing_mode"),
    ("pending ECC", "ecc_mode/pending_ecc"),
    ("pending MIG", "mig_mode/pending_mig"),
    ("accounting mode", "accounting_mode"),
    ("virtualisation mode", "gpu_virtualization_mode/virtualization_mode"),
    ("automatic boost", "clock_policy/auto_boost"),
    ("fabric state", "fabric/state"),
    ("fabric status", "fabric/status"),
    ("row remapping pending", "remapped_rows/remapped_row_pending"),
    ("row remapping failed", "remapped_rows/remapped_row_failure"),
    ("recovery action", "gpu_recovery_action"),
)
"""Name of a fact, and its path below `gpu`: what NVML's facts (`machine.gpu`) lack and no load changes."""
_NUMBERS: dict[str, tuple[tuple[str, ...], str, int]] = {
    "application graphics clock MHz": (("applications_clocks/graphics_clock",), "MHz", 0),
    "application memory clock MHz": (("applications_clocks/mem_clock",), "MHz", 0),
    "default application graphics clock MHz": (("default_applications_clocks/graphics_clock",), "MHz", 0),
    "default application memory clock MHz": (("default_applications_clocks/mem_clock",), "MHz", 0),
    "maximum customer boost clock MHz": (("max_customer_boost_clocks/graphics_clock",), "MHz", 0),
    **{
        f"{name} power limit mW": (
            (f"gpu_power_readings/{tag}_power_limit", f"power_readings/{tag}_power_limit"),
            "W",
            3,
        )
        for name, tag in (("default", "default"), ("minimum", "min"), ("maximum", "max"))
    },
    "rows remapped after correctable errors": (("remapped_rows/remapped_row_corr",), "", 0),
    "rows remapped after uncorrectable errors": (("remapped_rows/remapped_row_unc",), "", 0),
}
"""Name with its unit, paths (those of newer drivers first), unit as printed, and the power of ten between the two."""


def facts(limit_s: float = LIMIT_S) -> Facts:
    """Return facts of the GPUs by `nvidia-smi -q -x`, where it is on PATH.

    `limit_s`: time for an answer, in seconds; the program is killed after it.
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        return {"output": Absent("nvidia-smi is not on PATH")}
    with tempfile.TemporaryFile() as printed:
        try:
            done = subprocess.run(
                [program, "-q", "-x"],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"output": Absent(f"nvidia-smi did not answer within {limit_s:g} s")}
        except OSError as error:
            return {"output": Absent(f"nvidia-smi cannot be run: {error.strerror or error}")}
        printed.seek(0)
        content = printed.read(MAX_BYTES + 1)
    if done.returncode != 0:
        return {
            "output": Absent(f"nvidia-smi ended with {done.returncode}: {tool_text(content.decode(errors='replace'))}")
        }
    if len(content) > MAX_BYTES:
        return {"output": Absent(f"nvidia-smi printed more than {MAX_BYTES:,} bytes")}
    try:
        return parse(content) or {"output": Absent("nvidia-smi lists no GPU")}
    except LevelfieldError as error:
        return {"output": Absent(error.message.rstrip("."))}


def parse(content: bytes) -> Facts:
    """Return what NVML does not give already and no load changes; no serial number, no UUID, no process.

    Facts are named `device 0 default power limit mW` and so on, GPUs in the order of their buses, as NVML counts them.
    A value that this driver does not report is absent with the reason.

    Raises LevelfieldError: it is no output of `nvidia-smi -q -x`, is truncated, or its document type declares
    something.
    """
    found: Facts = {}
    for index, gpu in enumerate(_read(content)):
        found |= {f"device {index} {name}": _text(gpu, path) for name, path in _TEXTS}
        found |= {f"device {index} {name}": _number(gpu, *where) for name, where in _NUMBERS.items()}
    return found


def _text(texts: dict[str, str], path: str) -> str | Absent:
    said = texts.get(path)
    if said is None:
        return Absent("this nvidia-smi does not report it")
    if not said or _UNKNOWN.fullmatch(said) or _DEPRECATED in said:
        return Absent(f"nvidia-smi says {said or 'nothing'}")
    return said


def _number(texts: dict[str, str], paths: tuple[str, ...], unit: str, exponent: int) -> int | Absent:
    said = _text(texts, next((path for path in paths if path in texts), paths[0]))
    if isinstance(said, Absent):
        return said
    value, _, printed = said.partition(" ")
    unknown = Absent(f"nvidia-smi says {said}")
    if printed != unit:
        return unknown
    try:
        number = float(Decimal(value).scaleb(exponent))
    except (ArithmeticError, ValueError):
        return unknown
    return round(number) if 0 <= number <= LARGEST else unknown


def _read(content: bytes) -> list[dict[str, str]]:
    """Return the texts below each `gpu`, by path; of repeated paths the first counts."""
    path: list[str] = []
    pieces: list[list[str]] = []
    gpus: list[dict[str, str]] = []
    count = 0

    def doctype(_name: str, _system: str | None, _public: str | None, has_internal_subset: int) -> None:
        if has_internal_subset:
            raise refused(TOOL, "its document type declares something, and nvidia-smi's declares nothing")

    def start(name: str, _attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        path.append(name)
        pieces.append([])
        if path[0] != "nvidia_smi_log" or len(path) > _DEEPEST or count > _MOST_TEXTS or len(gpus) > _MOST_GPUS:
            raise refused(TOOL, "it is not the XML of nvidia-smi -q -x")
        if path == ["nvidia_smi_log", "gpu"]:
            gpus.append({})

    def end(_name: str) -> None:
        said = tool_text("".join(pieces.pop()))
        if path[1:2] == ["gpu"]:
            gpus[-1].setdefault("/".join(path[2:]), said)
        path.pop()

    def characters(data: str) -> None:
        pieces[-1].append(data)

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise refused(TOOL, str(error)) from error
    return gpus
