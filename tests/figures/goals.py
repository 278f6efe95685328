"""The table of what the default run and `ab` reach, against what was aimed at."""

import math
from functools import partial

from studies.record import read
from studies.regressions.record import Record, summary
from suite.analysis import launch_levels
from suite.analysis.time_spent import summarise
from suite.statistics.proportions import proportion
from suite.statistics.variance import split_variance
from tests.figures import prints, records
from tests.figures.checking import Figure
from tests.figures.records import DEFAULT, DEFAULT_AGAIN, TRIALS
from tests.figures.trials import found_in

METHOD = "docs/method.md"
TWO, FIVE, TEN = (f"upgrades-2026-11-24-{effect}pct" for effect in (2, 5, 10))
BERT_TWO, BERT_FIVE, BERT_TEN = (f"upgrades-2026-11-24-bert-{effect}pct" for effect in (2, 5, 10))


def _spent_s(*phases: str) -> float:
    """Return the seconds of a default run that went into some phases; without names, into all."""
    spent = records.run(DEFAULT).time_spent_s
    assert spent is not None
    return math.fsum(spent[phase] for phase in phases or spent)


def _share(*phases: str) -> str:
    return f"{100 * _spent_s(*phases) / _spent_s():.0f}"


def _counted() -> list[object]:
    spent = summarise(records.run(DEFAULT))
    assert spent is not None
    return [f"{100 * spent.counted_share:.0f}"]


def _half_widths(model: str) -> list[object]:
    """Return half the width of the logarithm of the lead over the second in both runs, in percent."""
    found: list[object] = []
    for name in (DEFAULT, DEFAULT_AGAIN):
        blocks = records.analysis(name).timed
        block = next(each for each in blocks if (each.case.model, each.case.scenario) == (model, "latency"))
        ratio = block.rows[1].ratio
        assert ratio is not None
        assert ratio.low is not None
        assert ratio.high is not None
        found.append(f"{100 * (math.sqrt(ratio.high / ratio.low) - 1):.1f}")
    return found


def _effect_found(name: str) -> list[object]:
    return [records.upgrades(name).settings["effect"].removesuffix("%"), *found_in(name, "injected")]


def _same(name: str) -> list[object]:
    finding = records.counted(name)["same"]
    equal = proportion(finding.verdicts["same"], finding.by_trial.trials)
    return [prints.of(finding.by_trial), prints.share(finding.by_trial), prints.of(equal), prints.share(equal)]


def _regressions() -> list[object]:
    outcomes = read(TRIALS / "regressions-2026-11-24.json", Record).outcomes
    found = summary(outcomes)
    assert found.found is not None
    assert found.false_alarms is not None
    longest = max(each.seconds for each in outcomes)
    return [prints.of(found.found), f"{longest / 60:.1f}", prints.of(found.false_alarms)]


def _lasted_min() -> str:
    return f"{_spent_s() / 60:.1f}"


def _variances() -> list[object]:
    """Return the standard deviations between launches and between windows, latency of each model, in percent."""
    found: list[object] = []
    for model in ("resnet50", "bert", "mlp"):
        block = next(
            each for each in records.run(DEFAULT).blocks if (each.case.model, each.case.scenario) == (model, "latency")
        )
        split = split_variance(launch_levels.reduce(block).log_counted)
        assert split.launch_sd > 0
        found += [f"{100 * split.launch_sd:.1f}", f"{100 * split.window_sd:.1f}"]
    return found


def _rest() -> list[object]:
    """Return the largest parts of a default run, in seconds and percent."""
    found: list[object] = []
    for phase in ("loading", "cold starts", "windows", "verifying", "peak memory", "warming up", "canary windows"):
        found += [round(_spent_s(phase)), _share(phase)]
    return found


FIGURES = [
    Figure(METHOD, "inside counted windows | {} % | at least", _counted),
    Figure(METHOD, "of a default run, images there | {} min | at most", lambda: [_lasted_min()]),
    *(
        Figure(
            METHOD, f"over the second, latency of {title} | {{}} % and {{}} % | at most", partial(_half_widths, model)
        )
        for model, title in (("resnet50", "ResNet-50"), ("bert", "BERT"), ("mlp", "the MLP"))
    ),
    *(
        Figure(METHOD, "`ab`, {} %, ResNet-50 | {} found ({} %), {} s | at most", partial(_effect_found, name))
        for name in (TEN, FIVE, TWO)
    ),
    *(
        Figure(METHOD, "`ab`, {} %, BERT | {} found ({} %), {} s | at most", partial(_effect_found, name))
        for name in (BERT_TEN, BERT_FIVE, BERT_TWO)
    ),
    *(
        Figure(
            METHOD,
            f"twice, {title} | called different: {{}} ({{}} %); called the same: {{}} ({{}} %)",
            partial(_same, name),
        )
        for title, name in (("ResNet-50", TWO), ("BERT", BERT_TWO))
    ),
    Figure(METHOD, "| {} found, each in at most {} min; {} false alarms |", _regressions),
    Figure(
        METHOD,
        "Loading took {} s ({} %), cold starts {} s ({} %), windows {} s ({} %), verifying {} s ({} %), peak memory "
        "{} s ({} %), warming up {} s ({} %) and the canary {} s ({} %)",
        _rest,
    ),
    Figure(
        METHOD,
        "is {} % for ResNet-50 (that between windows of a launch is {} %), {} % ({} %) for BERT and {} % ({} %) "
        "for the MLP",
        _variances,
    ),
]
