"""The tables of docs/peers.md: those of the newest record of the trial, line by line, where one is committed."""

import re
from collections.abc import Iterator
from functools import partial

from studies.peers import findings
from studies.peers.cells import WORKER
from studies.peers.record import Trial
from studies.peers.show import markdown
from studies.record import read
from tests.figures.checking import Figure
from tests.figures.records import TRIALS

PAGE = "docs/peers.md"
ABSENT = "No record of this trial is published yet"
"""What the page says instead of tables."""
LATEST = max(TRIALS.glob("peers-????-??-??.json"), default=None)


def lines() -> Iterator[str]:
    """Yield the lines of the newest record's tables; none where there is no record."""
    if LATEST is not None:
        yield from (line for line in markdown(read(LATEST, Trial)).splitlines() if line)


def figure(line: str) -> Figure:
    """Return what holds that the page has a line of the tables."""
    return Figure(PAGE, re.sub(r"\d+", "{}", line), partial(re.findall, r"\d+", line))


def readme() -> list[str]:
    """Return the ratios of the README's sentence, and the supervisor's share of a core in per cent."""
    trial = read(LATEST, Trial) if LATEST is not None else None
    if trial is None:
        return []
    found: dict[str, list[float]] = {}
    for _, finding in findings.ratios(trial):
        found.setdefault(finding.contrast.first, []).append(finding.mean_ratio.value)
    ours = sorted(found.pop(WORKER))
    others = [found[name][0] for name in ("benchmark_app", "torch.utils.benchmark", "pyperf", "optimum-benchmark")]
    share = findings.supervisors(trial)["optimum-benchmark"].median
    return [*(f"{ratio:.2f}" for ratio in (ours[0], ours[-1], *others)), f"{100 * share:.0f}"]


FIGURES = [
    *map(figure, lines()),
    Figure(
        "README.md",
        "Levelfield's worker reported {} to {} times its median, `benchmark_app` {}, `torch.utils.benchmark` {}, "
        "pyperf {}, and optimum-benchmark {}: its supervisor takes {} % of a core.",
        readme,
    ),
]
