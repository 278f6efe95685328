"""NVML, as Levelfield reads it, beside nvidia-smi: the facts of a GPU, and its state under a load.

References
----------
nvidia-smi(1), `--help-query-gpu`: the fields and their units.
"""

import csv
import io
import statistics
import subprocess
import time

import msgspec

from studies.gpu import load
from suite.errors import LevelfieldError
from suite.machine.device_use import Device
from suite.machine.gpu import gpu as facts_of_gpus
from suite.record.schema import Absent, DeviceUse

_MIB = 1 << 20
_YES = {True: "Enabled", False: "Disabled"}
_MODES = {0: "Default", 1: "Exclusive_Thread", 2: "Prohibited", 3: "Exclusive_Process"}
FIELDS: dict[str, str] = {
    "driver": "driver_version",
    "name": "name",
    "compute capability": "compute_cap",
    "memory bytes": "memory.total",
    "power limit mW": "enforced.power.limit",
    "power limit set mW": "power.limit",
    "default power limit mW": "power.default_limit",
    "maximum SM clock MHz": "clocks.max.sm",
    "maximum memory clock MHz": "clocks.max.memory",
    "persistence mode": "persistence_mode",
    "ECC": "ecc.mode.current",
    "ECC after a restart": "ecc.mode.pending",
    "MIG": "mig.mode.current",
    "MIG after a reset": "mig.mode.pending",
    "compute mode": "compute_mode",
    "PCIe generation": "pcie.link.gen.max",
    "PCIe width": "pcie.link.width.max",
    "PCIe width now": "pcie.link.width.current",
    "firmware": "vbios_version",
    "InfoROM": "inforom.img",
}
"""A fact of the fingerprint, and the field of nvidia-smi's that says the same."""
SAMPLED = (
    "power.draw.instant",
    "power.draw.average",
    "clocks.sm",
    "clocks.mem",
    "temperature.gpu",
    "utilization.gpu",
    "utilization.memory",
    "memory.used",
    "clocks_event_reasons.active",
    "ecc.errors.uncorrected.volatile.total",
)


class Fact(msgspec.Struct, frozen=True):
    """One fact, by both."""

    name: str
    nvml: str
    nvidia_smi: str

    @property
    def same(self) -> bool:
        return self.nvml == self.nvidia_smi


class UnderLoad(msgspec.Struct, frozen=True):
    """The GPU's state while one process multiplied matrices."""

    seconds: float
    use: DeviceUse
    """As a run records it for a window."""
    nvml_power_w: float | None
    """Mean, by the energy counter."""
    smi_power_w: float | None
    """Mean of the samples of `power.draw.instant`."""
    smi: tuple[dict[str, str], ...]
    """Samples of nvidia-smi, every tenth of a second."""
    smi_processes: dict[str, str]
    """Process id to memory, by `--query-compute-apps`."""
    pid: int


class Comparison(msgspec.Struct, frozen=True):
    """All of it."""

    facts: tuple[Fact, ...]
    other_facts: dict[str, str]
    """What nvidia-smi has no field for, or was not asked."""
    idle: dict[str, str]
    load: UnderLoad


def compare(gpu: int, seconds: float) -> Comparison:
    """Ask both for the facts, and both again while the GPU multiplies matrices."""
    found = facts_of_gpus()
    if isinstance(found["driver"], Absent):
        raise LevelfieldError(f"No GPU can be used: {found['driver'].reason}.")
    said = query(gpu, tuple(FIELDS.values()))
    prefix = f"device {gpu} "
    own = {name: found[name] if name == "driver" else found[prefix + name] for name in FIELDS}
    facts = tuple(Fact(name, as_smi(name, own[name]), said[field]) for name, field in FIELDS.items())
    others = {name: str(value) for name, value in found.items() if name.removeprefix(prefix) not in FIELDS}
    return Comparison(facts, others, query(gpu, SAMPLED), _under_load(gpu, seconds))


def as_smi(name: str, value: object) -> str:
    """Spell a fact as nvidia-smi does.

    Examples
    --------
    >>> as_smi("power limit mW", 700000), as_smi("ECC", True), as_smi("memory bytes", 85520809984)
    ('700.00', 'Enabled', '81559')
    """
    if isinstance(value, Absent):
        return "[N/A]"
    if isinstance(value, bool):
        return _YES[value]
    if name == "compute mode":
        return _MODES.get(int(str(value)), str(value))
    if name.endswith("mW"):
        return f"{int(str(value)) / 1e3:.2f}"
    return str(int(str(value)) // _MIB) if name == "memory bytes" else str(value)


def query(gpu: int, fields: tuple[str, ...]) -> dict[str, str]:
    """Ask nvidia-smi once; raises LevelfieldError where it cannot be started or fails."""
    return parse(_run(f"--id={gpu}", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"), fields)[0]


def parse(text: str, fields: tuple[str, ...]) -> list[dict[str, str]]:
    """Read its lines, one sample each; lines with another number of fields are left out."""
    rows = csv.reader(io.StringIO(text), skipinitialspace=True)
    return [dict(zip(fields, (cell.strip() for cell in row), strict=True)) for row in rows if len(row) == len(fields)]


def _run(*words: str) -> str:
    try:
        return subprocess.run(
            ["nvidia-smi", *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise LevelfieldError(f"nvidia-smi did not answer: {error}.") from error


def _under_load(gpu: int, seconds: float) -> UnderLoad:
    command = ["nvidia-smi", f"--id={gpu}", f"--query-gpu={','.join(SAMPLED)}", "--format=csv,noheader,nounits"]
    with Device(gpu) as device, load.running(load.PRODUCTS, str(seconds + 3)) as process:
        time.sleep(1)
        with subprocess.Popen([*command, "-lms", "100"], stdout=subprocess.PIPE, text=True) as sampling:
            before = device.read()
            time.sleep(seconds)
            use = device.use(before, {"load": process.pid}, "load")
            listed = _run(f"--id={gpu}", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits")
            sampling.terminate()
            samples = parse(sampling.stdout.read() if sampling.stdout is not None else "", SAMPLED)
    watts = [float(one["power.draw.instant"]) for one in samples if one["power.draw.instant"][:1].isdigit()]
    counted = None if isinstance(use.energy_mj, Absent) else use.energy_mj * 1e6 / use.elapsed_ns
    processes = {row["pid"]: row["memory"] for row in parse(listed, ("pid", "memory"))}
    mean = statistics.fmean(watts) if watts else None
    return UnderLoad(seconds, use, counted, mean, tuple(samples), processes, process.pid)
