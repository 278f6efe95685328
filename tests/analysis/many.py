"""A year of runs for tests: one small record, varied; levels that change and an environment that changes with them."""

import hashlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from levelfield import analysis
from levelfield.analysis import summaries as kept
from levelfield.analysis import summary
from levelfield.analysis.summary import Summary
from levelfield.paths import installation_key
from levelfield.record import files
from levelfield.record.schema import Run
from tests.records_builder import make_run

BEGAN = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
LATENCY = "onnxruntime/mlp/latency/fp32/b1/t2/cpu"
NOISE_SD = 0.008
"""Of a run's estimate around its level: a few times the launches' divided by the root of their number."""


small_run = partial(
    make_run, models=("mlp",), backends=("onnxruntime", "openvino"), generations=5, rounds=2, max_calls=5
)


def write_run(run: Run, folder: Path, *, summarised: bool = True) -> Summary:
    """Write a record as the end of a run does, with its summary beside it where asked."""
    folder.mkdir(parents=True)
    content = files.write(run, folder).read_bytes()
    sha256, size = hashlib.sha256(content).hexdigest(), len(content)
    made = summary.summarise(run, analysis.analyse(run), record_sha256=sha256, record_bytes=size)
    made = kept.sealed(made, installation_key())
    if summarised:
        kept.write(made, folder)
    return made


def write_summaries(given: Iterable[Summary], reports: Path) -> None:
    """Write summaries as this installation seals them, each beside a file in the place of its record."""
    for number, one in enumerate(given):
        folder = reports / f"{number:03}"
        folder.mkdir()
        content = f"{number}".encode()
        (folder / files.NAME).write_bytes(content)
        sha256 = hashlib.sha256(content).hexdigest()
        made = msgspec.structs.replace(one, record_sha256=sha256, record_bytes=len(content))
        kept.write(kept.sealed(made, installation_key()), folder)


def at(day: int) -> str:
    return (BEGAN + timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ")


def name(day: int) -> str:
    return f"{at(day)[:10].replace('-', '')}-093000-standard-{day:04x}"


def summaries(
    template: Summary, days: int, *, seed: int = 1, level: Callable[[int], float] = lambda _: 1.0
) -> list[Summary]:
    """Vary a summary day by day; what changes the level of onnxruntime also changes its version."""
    rng = np.random.default_rng(seed)
    made: list[Summary] = []
    for day in range(days):
        factor = level(day)
        groups = dict(template.environment)
        image = groups["image onnxruntime"]
        groups["image onnxruntime"] = {**image, "onnxruntime": f"1.{30 + 10 * factor:.0f}"}
        results = tuple(
            msgspec.structs.replace(
                result,
                estimate=result.estimate * (factor if result.arm == "onnxruntime" else 1.0) * shift,
                low=None,
                high=None,
            )
            if result.estimate is not None
            else result
            for result, shift in zip(
                template.results, np.exp(rng.normal(0, NOISE_SD, len(template.results))).tolist(), strict=True
            )
        )
        made.append(
            msgspec.structs.replace(
                template,
                id=name(day),
                started=at(day),
                record_sha256=f"{day:064x}",
                results=results,
                environment=groups,
            )
        )
    return made
