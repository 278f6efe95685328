"""The trial's findings as Markdown: one table for each question."""

from collections.abc import Iterator

from studies.overhead.record import Cell, Interval
from studies.peers.cells import BARE, WORKER
from studies.peers.decisions import AB, COMPARE_TO, EFFECT
from studies.peers.findings import Called, Spread, apart, called, ratios, supervisors
from studies.peers.record import Trial
from suite.report.markdown import interval, table

NO_DECISION = ("torch.utils.benchmark", "benchmark_app", "optimum-benchmark")
"""Tools that report figures and compare none."""
NO_SUPERVISOR = ("torch.utils.benchmark", "benchmark_app")
"""Tools of one process."""


def markdown(trial: Trial) -> str:
    """Return all tables of a record, with what surrounded them."""
    return "\n".join(_lines(trial))


def _lines(trial: Trial) -> Iterator[str]:
    sections = (
        ("Reported median over a bare loop's", _ratios(trial)),
        ("CPU time of the supervisor, as a share of one core", _supervisors(trial)),
        ("Disk beside the framework", _disk(trial)),
        ("Time to a decision, and how it was", _decisions(trial)),
        ("Two series of the same thing", _apart(trial)),
    )
    for title, lines in sections:
        found = list(lines)
        if found:
            yield from (f"## {title}", "", *found, "")
    for each in (*(f"{one.backend}: {one.failure}" for one in trial.cells if one.failure), *trial.failures):
        yield from (f"Could not be measured: {each}", "")
    versions = ", ".join(f"{name} {version}" for name, version in trial.versions.items())
    yield f"{versions}. Settings: {', '.join(f'{name} {value}' for name, value in trial.settings.items())}."
    yield (
        f"Load average {trial.load_before[0]:.1f} before, {trial.load_after[0]:.1f} after. Started {trial.started}, "
        f"finished {trial.finished}, seed {trial.seed}.\n"
    )


def _ratios(trial: Trial) -> Iterator[str]:
    rows = [
        (
            finding.contrast.first,
            cell.case.model,
            framework(cell),
            _time(finding.first_ns),
            _time(finding.second_ns),
            _ratio(finding.mean_ratio),
            str(finding.launches),
            "the same" if finding.contrast.one_process else "another",
        )
        for cell, finding in ratios(trial)
    ]
    columns = ("tool", "model", "on", "reports", "bare loop", "ratio (95 %)", "launches", "process of the loop")
    if rows:
        yield from table(columns, rows)


def framework(cell: Cell) -> str:
    """Return what a cell computes with."""
    return f"{cell.backend}, transformers' definition" if WORKER not in cell.arms else cell.backend


def _supervisors(trial: Trial) -> Iterator[str]:
    rows = [(tool, _percents(found), str(found.values)) for tool, found in supervisors(trial).items()]
    if not rows:
        return
    rows += [(tool, "none: it is one process", "") for tool in NO_SUPERVISOR]
    yield from table(("tool", "median (least … most)", "runs"), rows)


def _disk(trial: Trial) -> Iterator[str]:
    if trial.disk:
        rows = [
            (each.tool, each.what, f"{each.bytes_ / 1e6:.1f} MB", str(each.distributions or "")) for each in trial.disk
        ]
        yield from table(("tool", "what", "installed", "distributions"), rows)


def _decisions(trial: Trial) -> Iterator[str]:
    if not trial.decisions:
        return
    rows = [_row(each) for each in called(trial.decisions)]
    rows += [(tool, "either", "it decides nothing", "", "", "") for tool in NO_DECISION]
    columns = ("tool", "truth", "answers", "right in", "wrong in", "seconds: median (least … most)")
    yield from table(columns, rows)


def _row(found: Called) -> tuple[str, ...]:
    share = found.share
    counted = f"{share.successes} of {share.trials} ({100 * share.low:.0f} to {100 * share.high:.0f} %)"
    same = found.truth == "same"
    answers = ", ".join(f"{count} {answer}" for answer, count in found.answers.items())
    seconds = found.seconds
    return (
        found.tool,
        "the same" if same else f"{EFFECT:.0%} slower",
        answers,
        "" if same else counted,
        counted if same else "",
        f"{seconds.median:.0f} ({seconds.least:.0f} … {seconds.most:.0f})",
    )


def _apart(trial: Trial) -> Iterator[str]:
    rows: list[tuple[str, ...]] = []
    for cell in trial.cells:
        for arm in (*(name for name in cell.arms if name not in (WORKER, BARE)), BARE):
            if (found := apart(cell, arm)) is not None and arm != "pyperf":
                name = f"{arm} ({framework(cell)})" if arm == BARE else arm
                rows.append((name, "one launch and the next", _percents(found), str(found.values)))
    for each in called(trial.decisions):
        if each.truth == "same" and each.apart is not None:
            what = {AB: "one `ab` of default length", COMPARE_TO: "one series of default length and the next"}
            rows.append((each.tool, what[each.tool], _percents(each.apart), str(each.apart.values)))
    if rows:
        yield from table(("tool", "what", "apart: median (least … most)", "pairs"), rows)


def _percents(found: Spread) -> str:
    median, least, most = (f"{100 * value:.2f}" for value in found[:3])
    return f"{median} % ({least} … {most})"


def _time(value_ns: float) -> str:
    return f"{value_ns / 1e6:.2f} ms" if value_ns >= 1e6 else f"{value_ns / 1e3:.2f} µs"


def _ratio(found: Interval) -> str:
    return interval(found.value, found.low, found.high, "{:.3f}".format, to=" … ")
