"""Figures that rest on the record of the overhead trial, the newest that is committed."""

from functools import cache

from studies.overhead.command import contrasts_with_bare_loop, contrasts_with_benchmark_app, main
from studies.overhead.findings import find, pooled
from studies.overhead.record import Cell, Contrast, Finding, Interval, Limit, Trial
from studies.overhead.show import counts, farthest
from suite.report import names
from suite.statistics.ending import EndedBy
from tests.figures import prints, records
from tests.figures.checking import Figure

PAGE = "docs/overhead.md"
LATEST = max(path.stem for path in records.TRIALS.glob("overhead-????-??-??.json"))
EVERY = "every-backend-2026-11-22"
"""All backends on the MLP, against a bare loop alone."""
DECODE = "overhead-2026-11-26-decode"
"""A decoder's step beside `benchmark_app` alone."""
CLOCK = "OpenVINO's clock"


@cache
def trial() -> Trial:
    return records.overhead(LATEST)


def _again(cell: Cell, contrast: Contrast) -> Finding:
    """Judge a contrast again, from the windows."""
    at_least = trial().settings["benchmark_app, launches at least" if "benchmark_app" in cell.arms else _LEAST]
    return find(
        contrast,
        cell.generations,
        cell.arms,
        ended=EndedBy.PRECISION if len(cell.generations) > at_least else EndedBy.PLAN,
    )


_LEAST = "bare loop, launches at least"


def _cell(model: str, backend: str, *, app: bool = False) -> Cell:
    return next(
        cell
        for cell in trial().cells
        if (cell.case.model, cell.backend) == (model, backend) and ("benchmark_app" in cell.arms) is app
    )


def _finding(model: str, first: str, second: str, backend: str = "openvino") -> Finding:
    cell = _cell(model, backend, app=second == "benchmark_app")
    contrast = next(
        each.contrast for each in cell.findings if (each.contrast.first, each.contrast.second) == (first, second)
    )
    return _again(cell, contrast)


def _formatted(interval: Interval) -> str:
    value, low, high = prints.ratio(interval)
    return f"{value} ({low}–{high})"


def _microseconds(value_ns: float) -> str:
    return f"{value_ns / 1e3:.1f}"


def _limited() -> list[Finding]:
    """Judge every contrast with a limit again."""
    return [
        _again(cell, finding.contrast)
        for cell in trial().cells
        for finding in cell.findings
        if finding.verdict != "no limit"
    ]


def _minutes() -> int:
    return prints.minutes(trial().started, trial().finished)


def _with_app() -> list[object]:
    """Return what OpenVINO's worker takes beside `benchmark_app`, and of the MLP by the clock that both read."""
    ratios = [_formatted(_finding(model, "worker", "benchmark_app").ratio) for model in ("mlp", "resnet50", "bert")]
    more = _finding("mlp", "worker", "benchmark_app").difference_ns.value
    outside = Contrast("worker", CLOCK, Limit(), "")
    cell = _cell("mlp", "openvino", app=True)
    beyond = find(outside, cell.generations, cell.arms, ended=EndedBy.PRECISION).difference_ns.value
    same_clock = _finding("mlp", CLOCK, "benchmark_app")
    assert beyond > 0.7 * more  # most of it
    return [*ratios, _microseconds(more), _microseconds(beyond), _formatted(same_clock.ratio)]


def _with_bare_loop() -> list[object]:
    mlp, resnet, bert = (_finding(model, "worker", "bare loop", "onnxruntime") for model in ("mlp", "resnet50", "bert"))
    return [
        _minutes(),
        _formatted(mlp.ratio),
        _microseconds(mlp.first_ns),
        _formatted(resnet.ratio),
        _formatted(bert.ratio),
    ]


def _not_shown() -> list[object]:
    found = [finding.verdict for finding in _limited()]
    assert set(found) <= {"within", "not shown"}
    return [found.count("not shown"), len(found), 1, 2, 2]


def _every() -> list[object]:
    """Return how the contrasts of every backend came out: all launches together, and each backend's alone."""
    cells = records.overhead(EVERY).cells
    assert {cell.case.model for cell in cells} == {"mlp"}
    assert not any(cell.failure for cell in cells)
    inside, between = (
        pooled(each, cells)
        for one in (True, False)
        for each in contrasts_with_bare_loop("mlp")
        if each.one_process is one
    )
    assert inside.verdict == "within"
    found = {
        (cell.case.model, cell.backend): find(finding.contrast, cell.generations, cell.arms)
        for cell in cells
        for finding in cell.findings
        if finding.contrast.one_process
    }
    verdicts = counts(found)
    assert "outside" not in verdicts
    (_, backend), worst = farthest(found)
    return [
        _formatted(inside.ratio),
        _microseconds(inside.difference_ns.value),
        prints.in_words(len(cells)),
        prints.in_words(verdicts["within"]),
        f"{backend}'s, {_formatted(worst.ratio)}",
        _formatted(between.ratio),
    ]


_APP = Figure(
    PAGE,
    "OpenVINO's took {}, {} and {} times what its own `benchmark_app` reports. Of the MLP's {} µs more, {} µs are the "
    "call from Python, outside OpenVINO's own clock, which `benchmark_app` reads; by that clock it took {} times as "
    "long. The timed region stays what a Python caller sees.",
    _with_app,
)
_EVERY = Figure(
    PAGE,
    "all launches together show {} times ({} µs more), within the limit; of the {} backends alone, {} is shown to be "
    "within it and none outside; the farthest is {}. Between two processes all together took {} times",
    _every,
)
_TWO = [
    _EVERY,
    Figure(
        PAGE,
        "itself costs, in {} minutes: ONNX Runtime's worker took {} times a bare loop's median for the MLP ({} µs), {} "
        "for ResNet-50 and {} for BERT;",
        _with_bare_loop,
    ),
    _APP,
    Figure(
        PAGE,
        "{} of the {} contrasts with a limit ({} %, of `benchmark_app` {} %, of the MLP {} µs) were not shown to be "
        "within it",
        _not_shown,
    ),
]


def _bare(*, one_process: bool) -> dict[tuple[str, str], Finding]:
    """Judge each backend's contrast with a bare loop again, by model and backend."""
    return {
        (cell.case.model, cell.backend): _again(cell, finding.contrast)
        for cell in trial().cells
        for finding in cell.findings
        if finding.contrast.second == "bare loop" and finding.contrast.one_process is one_process
    }


def _summed_up(*, one_process: bool) -> list[object]:
    """Return how many contrasts there are, how many are within, not shown, and outside, and the worst."""
    found = _bare(one_process=one_process)
    verdicts = counts(found)
    (model, backend), worst = farthest(found)
    return [
        len(found),
        *(verdicts.get(verdict, 0) for verdict in ("within", "not shown", "outside")),
        f"{backend} on {names.model(model)}: {_formatted(worst.ratio)}",
    ]


def _pooled() -> list[object]:
    found: list[object] = []
    for model in ("mlp", "resnet50", "bert"):
        among = [cell for cell in trial().cells if cell.case.model == model and "bare loop" in cell.arms]
        contrast = next(each for each in contrasts_with_bare_loop(model) if not each.one_process)
        found.append(_formatted(pooled(contrast, among).ratio))
    return found


def _limits() -> list[object]:
    percent, small = contrasts_with_bare_loop("bert")[0].limit, contrasts_with_bare_loop("mlp")[0].limit
    return [str(percent).removesuffix("%"), str(small).removesuffix(" µs")]


def _app_verdicts() -> list[object]:
    found = {model: _finding(model, "worker", "benchmark_app").verdict for model in ("resnet50", "bert")}
    return [f"{sum(verdict == 'within' for verdict in found.values())} of {len(found)}", 2]


def _launches() -> list[object]:
    return [prints.in_words(trial().settings[_LEAST])]


_ALL = [
    Figure(PAGE, "itself costs, in {} minutes: every backend's worker against a bare loop", lambda: [_minutes()]),
    Figure(PAGE, "within {} % or, for the MLP, {} µs", _limits),
    Figure(
        PAGE,
        "In one process, where both loops take turns, of {} contrasts {} are within, {} not shown and {} outside; the "
        "worst is {}.",
        lambda: _summed_up(one_process=True),
    ),
    Figure(
        PAGE,
        "Between two processes, of {} contrasts {} are within, {} not shown and {} outside, since {} launches do not "
        "average their own differences out; the worst is {}.",
        lambda: [*(found := _summed_up(one_process=False))[:4], *_launches(), found[4]],
    ),
    Figure(PAGE, "All backends together: {} for the MLP, {} for ResNet-50 and {} for BERT.", _pooled),
    _APP,
    Figure(PAGE, "{} of the last two are shown to be within {} %", _app_verdicts),
]


def _launches_planned() -> str:
    """Return how many launches the command makes of a cell unless asked otherwise."""
    (launches,) = (option.default for option in main.params if option.name == "launches")
    assert isinstance(launches, int)
    return prints.in_words(launches)


def _decode() -> list[object]:
    """Return launches, minutes, and the three ratios of a decoder's step; the limit is neither met nor exceeded."""
    recorded = records.overhead(DECODE)
    (cell,) = recorded.cells
    at_least = recorded.settings["benchmark_app, launches at least"]
    assert len(cell.generations) == at_least
    found = {
        (each.contrast.first, each.contrast.second): find(
            each.contrast, cell.generations, cell.arms, ended=EndedBy.PLAN
        )
        for each in cell.findings
    }
    assert {each.verdict for each in found.values()} == {"not shown", "no limit"}
    pairs = (("worker", "benchmark_app"), (CLOCK, "benchmark_app"), ("worker", CLOCK))
    return [
        prints.in_words(at_least),
        prints.in_words(prints.minutes(recorded.started, recorded.finished)),
        *(_formatted(found[pair].ratio) for pair in pairs),
    ]


def _steps() -> list[object]:
    """Return the shortest and the longest median of a window, in milliseconds."""
    (cell,) = records.overhead(DECODE).cells
    took = [
        window.median_ns / 1e6
        for generation in cell.generations
        for round_ in generation.rounds
        for window in round_.windows
    ]
    return [f"{min(took):.1f}", f"{max(took):.1f}"]


_METHOD = [
    Figure(
        "docs/method.md",
        "In {} launches of {} minutes ([record](../reports/trials/overhead-2026-11-26-decode.md)) the worker took {} "
        "times what `benchmark_app` reports. By OpenVINO's own clock, inside the worker, the step took {} times as "
        "long, and the worker {} times what that clock says.",
        _decode,
    ),
    Figure("docs/method.md", "a step took from {} to {} ms in these launches", _steps),
    Figure(
        "docs/method.md",
        "the t interval over {} launches is compared with the limit, {} % of a call or {} µs for the MLP",
        lambda: [_launches_planned(), *_limits()],
    ),
    Figure(
        "docs/method.md", "so {} launches of one backend cannot show {} %", lambda: [_launches_planned(), _limits()[0]]
    ),
    Figure(
        "docs/method.md",
        "its limit of {} % either",
        lambda: [str(contrasts_with_benchmark_app("bert")[0].limit).removesuffix("%")],
    ),
    Figure(
        "docs/method.md",
        "one step of a decoder in the same three ways, with a limit of {} %",
        lambda: [str(contrasts_with_benchmark_app("decoder")[0].limit).removesuffix("%")],
    ),
]

FIGURES = [*_METHOD, *(_ALL if trial().pooled else _TWO)]
