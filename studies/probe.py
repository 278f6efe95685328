"""How steady the machine's probe is, in NumPy and in C: both in turns, on a machine that is left alone.

nox -f studies/noxfile.py -s probe -- --seconds 60
"""

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click
import numpy as np

from levelfield.machine import topology
from levelfield.machine.cpu import last_cache_bytes
from levelfield.plan.cpu_pinning import counts, pool
from levelfield.record.states import CALM_ARITHMETIC, LOW_PERCENTILE
from levelfield.report.markdown import table
from levelfield.schedule.roofline import array_bytes
from levelfield.worker.machine_probe import ProbeThreads
from studies import commands

PERCENTILES = (50, 75, 90, 95, 99)
SOURCE = Path(__file__).with_name("probe.c")


def in_c(folder: Path) -> Callable[[], int]:
    """Compile fused multiply-adds in registers, on all CPUs at once; return what runs them, in nanoseconds."""
    made = folder / "probe.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-pthread", "-o", made, SOURCE], check=True)
    probe = ctypes.CDLL(str(made)).probe
    probe.restype = ctypes.c_int64
    return lambda: int(probe())


def measure(seconds: float, pause_s: float) -> Mapping[str, np.ndarray]:
    """Take all probes in turns; return their times in nanoseconds by name."""
    places = pool((), topology.read())
    (threads,) = counts((), places)
    numpy = ProbeThreads(array_bytes(last_cache_bytes(places.cpus[:threads]), 1 << 34))
    with tempfile.TemporaryDirectory() as folder:
        compiled = in_c(Path(folder))
        times: list[tuple[int, ...]] = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begin = time.perf_counter_ns()
            found = numpy.probe()
            whole_ns = time.perf_counter_ns() - begin
            times.append((found.arithmetic_ns, found.memory_ns, found.pages_ns, whole_ns, compiled()))
            time.sleep(pause_s)
    numpy.close()
    names = ("arithmetic", "memory", "pages", "all three, as asked for", "multiply-adds in C")
    return dict(zip(names, np.array(times).T, strict=True))


def markdown(found: Mapping[str, np.ndarray]) -> str:
    """Return the spread of every probe over its low mode, and how often NumPy and C agree on the state."""
    calm = {name: values <= CALM_ARITHMETIC * np.percentile(values, LOW_PERCENTILE) for name, values in found.items()}
    agree = float(np.mean(calm["arithmetic"] == calm["multiply-adds in C"]))
    return "\n".join(
        (
            *table(
                ("probe", "low mode:", *(f"p{each}:" for each in PERCENTILES), "in the low mode:"),
                _rows(found, calm),
            ),
            f"\n{len(found['arithmetic'])} probes of each; NumPy's arithmetic and C agree on the state in {agree:.0%}.",
        )
    )


def _rows(found: Mapping[str, np.ndarray], calm: Mapping[str, np.ndarray]) -> Iterator[tuple[str, ...]]:
    for name, values in found.items():
        low = float(np.percentile(values, LOW_PERCENTILE))
        spread = (f"{np.percentile(values, each) / low:.3f}" for each in PERCENTILES)
        yield name, f"{low / 1e6:.3f} ms", *spread, f"{np.mean(calm[name]):.0%}"


@click.command(context_settings=commands.SETTINGS)
@click.option("--seconds", type=click.FloatRange(1), default=60.0, show_default=True)
@click.option("--pause", "pause_s", type=click.FloatRange(0), default=0.03, show_default=True, help="Seconds.")
def main(seconds: float, pause_s: float) -> None:
    """Measure the spread of the machine's probe, and of the same idea in C; nothing else should run."""
    with commands.terminal() as listener:
        listener.show(markdown(measure(seconds, pause_s)))


if __name__ == "__main__":
    main()
