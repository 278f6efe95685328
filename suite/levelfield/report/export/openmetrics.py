"""Results as OpenMetrics text: for Prometheus, VictoriaMetrics and what else reads it, by a file that is scraped.

References
----------
https://prometheus.io/docs/specs/om/open_metrics_spec/ : names, units, escaping of labels, `# EOF`.
"""

from collections.abc import Iterable, Iterator

from levelfield.report.tables import Value

_LABELS = ("run", "model", "scenario", "precision", "batch", "threads", "processes", "device", "arm", "version")
_FAMILIES = {
    "geometric mean call": ("call", "seconds", 1e-9, "Geometric mean of the time of a call."),
    "items per second": ("throughput", "items_per_second", 1.0, "Items in a second."),
    "time to accuracy": ("time_to_accuracy", "seconds", 1e-9, "Time of a training to its target accuracy."),
    "time to first answer": ("first_answer", "seconds", 1e-9, "Time from the start of a process to its first output."),
    "peak memory": ("peak_memory", "bytes", 1.0, "Peak memory of a worker."),
}
"""Metric of a row of results to its family, unit, the unit over that of the row, and help."""
_BOUNDS = (("value", ""), ("low", "_low"), ("high", "_high"))
"""Column to what its family's name has before the unit: an interval is three gauges."""


def write(rows: Iterable[dict[str, Value]]) -> Iterator[str]:
    """Yield the lines of an exposition, without their line ends."""
    found = list(rows)
    for metric, (name, unit, scale, text) in _FAMILIES.items():
        own = [row for row in found if row.get("metric") == metric]
        for column, bound in _BOUNDS:
            what = text if not bound else f"{text} {'Lower' if column == 'low' else 'Upper'} end of the 95 % interval."
            samples = [(row, number * scale) for row in own if isinstance(number := row.get(column), int | float)]
            yield from _family(f"levelfield_{name}{bound}_{unit}", unit, what, samples)
    equal = [(row, float(value)) for row in found if isinstance(value := row.get("equal"), bool)]
    yield from _family("levelfield_output_equal", "", "Whether outputs are equal to the reference: 1 or 0.", equal)
    yield "# EOF"


def _family(name: str, unit: str, text: str, samples: list[tuple[dict[str, Value], float]]) -> Iterator[str]:
    if not samples:
        return
    yield f"# TYPE {name} gauge"
    if unit:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {text}"
    for row, value in samples:
        labels = ",".join(f'{label}="{_escaped(row[label])}"' for label in _LABELS if row.get(label) is not None)
        yield f"{name}{{{labels}}} {value!r}"


def _escaped(value: Value) -> str:
    return str(value).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
