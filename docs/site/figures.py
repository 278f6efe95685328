"""Figures of README.md and docs/, from committed records: cog calls these functions, and each prints Markdown."""

import itertools
import json
import math
import statistics
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from levelfield.analysis import Analysis, analyse
from levelfield.analysis.types import Row, TimedBlock
from levelfield.backends import registry
from levelfield.images import build, catalogue
from levelfield.record import files
from levelfield.record.schema import Case, Run
from levelfield.report import answers, sentences, terminal, units
from levelfield.run import ab
from studies import commands, default_runs
from studies.default_runs import Seen
from studies.gpu import states

REPORTS = Path(__file__).resolve().parents[2] / "reports"
TRIALS = REPORTS / "trials"
DEFAULT = "20261128-111231-standard-8c85"
"""The run that the README shows: the default profile, images there, on a quiet machine."""
MOSTLY = 0.5
"""Share of probes that are calm in an hour that is called so."""
DECODER = "20261125-202352-standard-4444"
KERAS = "20261125-204614-standard-1627"
OWN = "20261128-201432-standard-3736"
AB = "20261128-112008-standard-ab5e"
"""An `ab` of two releases, one of which is known to be slower."""
GPU = "20261127-050439-standard-0048"
GPU_DAY = "2026-11-27"
"""Of the records `gpu-…` that `gpu_questions` reads."""
GPU_SETTINGS = {
    "search": "cuDNN's search off against on",
    "same": "the same arm twice",
    "graphs": "CUDA graphs on against off",
}
"""Comparisons by `ab` on a GPU: records `gpu-ab-NAME-DAY.json`."""


@cache
def _run(name: str) -> Run:
    return files.read(REPORTS / name)


@cache
def _analysis(name: str) -> Analysis:
    return analyse(_run(name))


def _block(run: str, scenario: str, model: str, precision: str = "fp32") -> TimedBlock:
    wanted = (scenario, model, precision)
    (found,) = (
        each for each in _analysis(run).timed if (each.case.scenario, each.case.model, each.case.precision) == wanted
    )
    return found


@cache
def _trial(name: str) -> Any:  # noqa: ANN401  (a record of any study)
    return json.loads((TRIALS / f"{name}.json").read_text(encoding="utf-8"))


def _section(name: str, title: str) -> str:
    """Return what stands under a heading of a study's rendered record; without a title, all of it."""
    text = (TRIALS / f"{name}.md").read_text(encoding="utf-8")
    return f"\n{text}".split(f"\n## {title}\n", 1)[1].split("\n## ")[0] if title else text


def _rows(name: str, title: str = "") -> list[dict[str, str]]:
    """Return the first table of a section, cell by cell."""
    text = itertools.dropwhile(lambda line: not line.startswith("|"), _section(name, title).splitlines())
    lines = itertools.takewhile(lambda line: line.startswith("|"), text)
    cells = [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in lines]
    head = [name + " " * cells[0][:at].count(name) for at, name in enumerate(cells[0])]  # a name may stand twice
    return [dict(zip(head, line, strict=True)) for line in cells[2:]]


def show(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table."""
    lines = (" | ".join(map(str, cells)) for cells in (head, ["---"] * len(head), *rows))
    print("\n".join(f"| {line} |" for line in lines))


def table(
    name: str,
    title: str = "",
    *,
    drop: Collection[str] = (),
    only: Mapping[str, Collection[str]] | None = None,
    having: str = "",
) -> None:
    """Print a table of a study's rendered record.

    Parameters
    ----------
    name, title
        The record under reports/trials/, and the heading above the table.
    drop
        Columns to leave out.
    only
        Values by column, each of which has a row: other rows are left out.
    having
        A column in which a row has to have something.
    """
    only = only or {}
    found = _rows(name, title)
    if missing := [value for column in only for value in only[column] if value not in {row[column] for row in found}]:
        raise ValueError(f"{name}.md has no such row under {title!r}: {missing}.")
    rows = [row for row in found if all(row[column] in values for column, values in only.items())]
    rows = [row for row in rows if not having or row[having]]
    head = [column for column in rows[0] if column not in drop]
    show(head, ([row[column] for column in head] for row in rows))


def items(name: str, having: str = "") -> None:
    """Print the list of a study's rendered record, or its items that have a word."""
    print("\n".join(line for line in _section(name, "").splitlines() if line.startswith("- ") and having in line))


def unclassified(name: str) -> None:
    """Print how many pairs of released versions a bare loop could not tell apart, and not call the same."""
    pairs = _rows(name)
    undecided = sum(pair["class"] == "undecided" for pair in pairs)
    print(f"- Left out, since a bare loop did not decide: {undecided} of {len(pairs)} pairs.")


def streams() -> None:
    """Print what `ab` decided in the streams of the newest record."""
    newest = max(TRIALS.glob("streams-*.md"), default=None)
    if newest is None:
        print("No stream has been measured yet.")
        return
    table(newest.stem, "Streams")
    print()
    items(newest.stem)
    print(f"- [Record](../reports/trials/{newest.name}).")


def cost() -> None:
    """Print what the two commands of the README take: time by records, download and disk by locks."""
    runs = default_runs.read()
    times = sorted(run.seconds for run in runs)
    names = dict.fromkeys([*(registry.get(name).image for name in registry.names()), "exporter", "canary"])
    locks = [catalogue.lock(name) for name in names]
    wheels = sum({pin.file: pin.size_bytes for lock in locks for pin in lock.pins}.values())
    bases = {base.name: base for base in (build.recipe(name).base for name in names)}.values()
    packages = [package for base in bases if base.lock is not None for package in base.lock.packages_of(base.name)]
    images = sum(package.installed_bytes for package in packages)
    images += round(sum(lock.installed_bytes for lock in locks) * build.BYTECODE)
    fresh = sorted(found["seconds"] for found in _trial("cold"))
    print(
        f"On two cores `make bench` took {units.duration(times[0])} to {units.duration(times[-1])} in "
        f"{units.plural(len(runs), 'run')}, and [{units.duration(fresh[0])} to {units.duration(fresh[-1])}]"
        "(docs/install.md) where no image was there. "
        f"It fetches {units.size(wheels)} and takes {units.size(wheels + images)} of disk, or "
        f"{units.size(wheels + 2 * images)} in containerd's store. "
        "`make test` takes ten minutes."
    )


def cold() -> None:
    """Print what `make bench` took where there was nothing but an engine."""
    print("On two cores, with nothing but an engine, `make bench` took ([record](../reports/trials/cold.json)):\n")
    for found in _trial("cold"):
        whole, first, images = (units.duration(found[f"{name}seconds"]) for name in ("", "first_ranking_", "images_"))
        print(
            f"- {whole} on {found['machine']}: its first ranking came after {first}, all images were there after "
            f"{images}, and {units.percent(found['calm_share'])} of probes were calm."
        )


def result(model: str = "ResNet-50, latency, batch 1") -> None:
    """Print what `levelfield report` prints of the default run: what holds for all results, and one table."""
    printed = StringIO()
    terminal.show(_run(DEFAULT), _analysis(DEFAULT), Console(file=printed, width=80, color_system=None))
    lines = [line.rstrip() for line in printed.getvalue().replace("\u00a0", " ").splitlines()]
    start = lines.index(model)
    end = next(at for at, line in enumerate(lines) if at > start + 7 and not line)
    about = [line for line in lines if line.startswith("All ") or "were disturbed" in line][:2]
    print("\n".join(["```text", *about, "", *lines[start:end], "```"]))


def verdict(run: str = DEFAULT, model: str = "ResNet-50") -> None:
    """Print a run's line on a model."""
    (line,) = [each for each in answers.answers(_analysis(run)) if each.model == model]
    print(f"> {line.model}: {line.text}")


def verdicts(run: str) -> None:
    """Print a run's lines on all its models."""
    print("\n>\n".join(f"> {line.model}: {line.text}" for line in answers.answers(_analysis(run))))


def comparison() -> None:
    """Print the first line of the published `ab`."""
    print(f"> {ab.of_record(REPORTS / AB).comparison.answer}")


class Goal(NamedTuple):
    """A figure of default runs with the limit that was set for it."""

    what: str
    limit: float
    of: Callable[[Seen], float | None]
    """None: a run does not have it."""
    write: Callable[[float], str] = units.percent

    def values(self, runs: Iterable[Seen]) -> list[float]:
        return [value for value in map(self.of, runs) if value is not None]

    def is_missed(self, runs: Iterable[Seen]) -> bool:
        return any(value > self.limit for value in self.values(runs))

    def span(self, runs: Collection[Seen]) -> str:
        values = self.values(runs)
        texts = dict.fromkeys(self.write(pick(values)) for pick in (min, max) if values)
        some = f" ({len(values)} of {len(runs)} runs)" if 0 < len(values) < len(runs) else ""
        return " – ".join(texts) + some if values else units.NO_VALUE


def goals(runs: Sequence[Seen] | None = None) -> None:
    """Print the goals of the default run, and what runs at different hours show."""
    runs = default_runs.read() if runs is None else runs
    found, first = _goals(runs), _first(runs)
    calm_ = [run for run in runs if run.calm is None or run.calm >= MOSTLY]
    hours = {"calm": calm_, "busy": [run for run in runs if run not in calm_]}
    seen = {f"{name} hours, {units.plural(len(each), 'run')}": each for name, each in hours.items() if each}
    rows = [[goal.what, f"≤ {goal.write(goal.limit)}", *map(goal.span, seen.values())] for goal in found]
    show(["goal", "limit", *seen], rows)
    met = sum(not goal.is_missed(runs) for goal in found)
    print(f"\nMet in every run: {met} of {units.plural(len(found), 'goal')}.")
    if first:
        same = sum(map(bool, first.values()))
        print(
            f"\nThe best arm is the same, or not separated, in all runs: {same} of {units.plural(len(first), 'case')}."
        )
    inside, intervals = default_runs.held(list(runs))
    if intervals:
        print(f"\n{inside} of {intervals} intervals hold the mean of the other runs' ratios.")
    print(f"\nRecord: `reports/trials/{default_runs.RECORD.name}`.")


def _goals(runs: Sequence[Seen]) -> list[Goal]:
    def width(pick: Callable[[list[float]], float], model: str = "") -> Callable[[Seen], float | None]:
        def of(run: Seen) -> float | None:
            cases = [case for case in run.cases if model in ("", case.model)]
            widths = [ratio.half_width for case in cases for ratio in case.ratios]
            return math.expm1(pick(widths)) if widths else None

        return of

    def lead(title: str) -> Callable[[Seen], float | None]:
        return lambda run: next(
            (math.expm1(case.ratios[0].half_width) for case in run.cases if case.title == title and case.ratios), None
        )

    titles = dict.fromkeys(case.title for run in runs for case in run.cases if case.ratios)
    return [
        Goal("time", 360, lambda run: run.seconds, units.duration),
        Goal("half width, median", 0.04, width(statistics.median)),
        Goal("half width, largest", 0.10, width(max)),
        Goal("half width, largest of the MLP", 0.06, width(max, "mlp")),
        *(Goal(f"lead: {title}", 0.025, lead(title)) for title in titles),
    ]


def _first(runs: Sequence[Seen]) -> dict[str, set[str]]:
    """Return the arms of each case that are the best, or not separated from it, in each of two or more runs."""
    first: dict[str, list[set[str]]] = {}
    for case in itertools.chain.from_iterable(run.cases for run in runs):
        if case.first:
            first.setdefault(case.title, []).append(set(case.first))
    return {title: set.intersection(*arms) for title, arms in first.items() if len(arms) > 1}


def decoder() -> None:
    """Print the decoder's calls, and tokens a second, by backend."""
    blocks = [_block(DECODER, scenario, "decoder") for scenario in ("prefill", "decode", "generate")]
    arms = sorted(row.arm for row in blocks[0].rows)
    cells = [{row.arm: sentences.cost(row, block.case) for row in block.rows} for block in blocks]
    show(["backend", "prefill", "decode", "tokens/s"], ([f"`{arm}`", *(each[arm] for each in cells)] for arm in arms))


def wrappers(run: str) -> None:
    """Print what Keras costs over its engines, by model."""
    found = {(each.arm, each.case.model): each for each in _analysis(run).insights.wrappers}
    models = [model for model in ("mlp", "resnet50", "bert") if any(each == model for _, each in found)]
    pairs = dict.fromkeys((each.arm, each.against) for each in found.values())
    show(
        ["", *models],
        (
            [f"`{arm}` ÷ `{against}`", *(units.times(found[arm, model].ratio) for model in models)]
            for arm, against in pairs
        ),
    )


def explained() -> None:
    """Print the operators that `levelfield explain tensorflow-xla/mlp` found, and how far they can be believed."""
    (found,) = _trial("explain-2026-11-22")["results"]
    total = sum(each["self_us"] for each in found["operators"])
    rows = [(each["operator"], each["calls"], each["self_us"]) for each in found["operators"]]
    show(
        ["operator", "calls", "self µs", "share"],
        ([name, round(calls), units.digits(own), units.percent(own / total)] for name, calls, own in rows),
    )
    account = found["account"]
    plain = units.digits(account["plain_us"])
    share = units.percent(total / account["plain_us"])
    print(f"\nOperators take {units.digits(total)} µs of a call: {share} of the plain median ({plain} µs).")


def attacks() -> None:
    """Print what came of the last run of the fuzzer, of the faults and of the signals."""
    changed, faults = _trial("attacks"), _trial("faults")["results"]
    signals = [each for part in _trial("signals")["parts"] for each in part["results"]]
    kept, lost, left = (sum(each[name] for each in faults) for name in ("kept", "lost", "left"))
    print(
        f"- Changed files: {changed['cases']:,} cases for {len(changed['readers'])} readers, "
        f"{len(changed['failures'])} failed ([record](../reports/trials/attacks.json)); "
        f"{sum(changed['found'].values())} reached a line of code for the first time, and were changed further.\n"
        f"- Faults: {len(faults)}, with {kept} finished windows kept and {lost} lost, {left} containers left, "
        f"{sum(bool(each['differences']) for each in faults)} records that differ "
        "([record](../reports/trials/faults.md)).\n"
        f"- Signals: {len(signals)}, in {len({each['phase'] for each in signals})} phases of a run: "
        f"{sum(bool(each['left']) for each in signals)} left something behind; of "
        f"{sum(each['goes_on'] is not None for each in signals)} runs that had begun, "
        f"{sum(bool(each['goes_on']) for each in signals)} were finished ([record](../reports/trials/signals.json))."
    )


def images() -> None:
    """Print whether two builds of every image gave the same layers."""
    found = _trial("images-2026-11-22")["images"]
    same = sum(each["first"] == each["second"] for each in found)
    print(
        f"Two builds from nothing on one machine gave the same layers for {same} of {len(found)} images "
        "([record](../reports/trials/images-2026-11-22.json)); two machines were not tried."
    )


def _worst(rows: Iterable[Mapping[str, str]], column: str) -> str:
    return max((row[column] for row in rows), key=lambda cell: float(cell.split(" ")[0]))


def upgrade_tried() -> None:
    """Print what the published upgrade of two declared sides found."""
    (row,) = _trial("upgrade-2026-11-28")["rows"]
    ratio = row["ratio"]
    found = f"{ratio['value']:.3f} ({ratio['low']:.3f}–{ratio['high']:.3f})"
    print(f"> {row['old_arm']} → {row['new_arm']}, BERT-base: {found}, {row['verdict']}: {row['reason']}.")


def upgrades_in_trouble() -> None:
    """Print the highest rate of false verdicts on a machine that is not steady."""
    rows = _rows("bracket-2026-11-25", "A machine in trouble, and no effect")
    worst = _worst(rows, "slower, or faster")
    print(
        f"Of upgrades without an effect, on a machine that takes a step, drifts or has a bad boot, at most {worst} are "
        f"called *slower* (or *faster*), in the worst of {len(rows)} simulated settings."
    )


def fleets() -> None:
    """Print how often a like node is called slow, and which slow node is found."""
    alike = _rows("fleet-2026-11-25", "Fleets of like nodes in which any is called slow or fast in any case")
    worst = _worst(alike, "slow or fast")
    print(
        f"Of fleets of like nodes, any was called slow or fast in {worst}, in the worst of {len(alike)} settings. "
        "The smallest slowdown of a node that is found in 95 % of fleets (six cases, five runs that scatter by 1 %):\n"
    )
    rows = _rows("fleet-2026-11-25", "The smallest slowdown of one node that is found with a probability of 95 %")
    found = {(row["nodes"], row["spread of nodes"]): row["finds"] for row in rows}
    spreads, nodes = ("0.3 %", "0.5 %", "1 %", "2 %", "3 %"), ("4", "8", "16", "32", "100")
    show(["nodes", "spread 0.3 %", *spreads[1:]], ([each, *(found[each, one] for one in spreads)] for each in nodes))


def _power(value: float) -> str:
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def gpu() -> None:
    """Print what was seen on a GPU."""
    show(["", "seen", "record"], ([what, seen, f"[record](../reports/{record})"] for what, seen, record in _on_gpu()))


def _on_gpu() -> Iterator[tuple[str, str, str]]:
    """Yield what was looked at, what was seen, and the record under reports/."""
    name = "gpu-sensors-2026-11-26"
    facts, load = _trial(name)["facts"], _trial(name)["load"]
    same = sum(one["nvml"] == one["nvidia_smi"] for one in facts)
    power = f"{load['nvml_power_w']:.0f} W by NVML's energy counter and {load['smi_power_w']:.0f} W by `nvidia-smi`"
    yield "Sensors", f"{same} of {len(facts)} facts by NVML are those of `nvidia-smi`; {power}", f"trials/{name}.json"
    name = "gpu-ceilings-2026-11-26"
    products = ", ".join(f"{kind} {value:.0f}" for kind, value in _trial(name)["products_tflops"].items())
    copies = f"copies {_trial(name)['copy_tbs']:.2f} TB/s"
    yield "Ceilings", f"products in TFLOP/s: {products}; {copies}", f"trials/{name}.json"
    name = "gpu-parities-2026-11-26"
    answers = [one["equal"] for one in _trial(name)["answers"]]
    others = "the others are the MLP in TF32, which was computed in fp32"
    yield "Answers", f"{sum(answers)} of {len(answers)} equal to the reference; {others}", f"trials/{name}.json"
    name = "gpu-answers-2026-11-26"
    refused = [one for one in _trial(name)["answers"] if not one["equal"]]
    errors = ", ".join(f"{one['model']} {one['relative_error']:.1e}" for one in refused)
    yield "Hidden TF32", f"refused: errors of {errors}", f"trials/{name}.json"
    name = "gpu-clock-2026-11-26"
    (clock,) = _trial(name)
    ratios = "; ".join(
        f"{one['ratio']:.4f} ({one['low']:.4f}–{one['high']:.4f}) of {one['clock']}" for one in clock["agreements"][:3]
    )
    yield "Clocks", f"ResNet-50, batch {clock['batch']}: a window is {ratios}", f"trials/{name}.json"
    yield "A verdict", sentences.verdict(_block(GPU, "throughput-device", "resnet50")), f"{GPU}/report.html"
    name = "gpu-inject-2026-11-27"
    injected = ab.of_record(TRIALS / f"{name}.json")
    (row,) = injected.comparison.rows
    launches = len(injected.run.blocks[0].generations)
    yield "5 % injected", f"*{row.verdict.value}*, {units.times(row.ratio)}, {launches} launches", f"trials/{name}.json"


def gpu_questions() -> None:
    """Print what a GPU answered to the questions of docs/gpu.md; a record that is not there was not reached."""
    show(["", "seen", "record"], _gpu_questions())


def _gpu_questions() -> Iterator[list[str]]:
    for name, title in GPU_SETTINGS.items():
        yield _row(f"`ab`: {title}", f"gpu-ab-{name}", _ab_on_gpu)
    yield _row("States of the GPU", "gpu-states", _states_on_gpu)
    yield _row("Decoder", "gpu-decoder", _decoder_on_gpu)
    yield _row("Decoder, torch.compile", "gpu-decoder-compiled", _decoder_on_gpu)
    yield _row("Training of ResNet-50", "gpu-training-resnet50", _training_on_gpu)
    yield _row("Training of ResNet-50 in fp16", "gpu-training-resnet50-fp16", _training_on_gpu)
    yield _row("Training of BERT", "gpu-training-bert", _training_on_gpu)
    yield _row("An ONNX file of one's own", "gpu-own", _own_on_gpu)
    yield _row("`upgrade` of two declared sides", "gpu-upgrade", _upgrade_on_gpu)


def _row(title: str, name: str, seen: Callable[[Path], str]) -> list[str]:
    name = f"{name}-{GPU_DAY}"
    path = TRIALS / f"{name}.json"
    if not path.is_file():
        return [title, "not reached", "–"]
    return [title, seen(path), f"[record](../reports/trials/{name}.json)"]


def _ab_on_gpu(path: Path) -> str:
    found = ab.of_record(path)
    (row,) = found.comparison.rows
    ratio = row.ratio
    if ratio is None:
        return f"*{row.verdict.value}*"
    span = f" ({ratio.low:.3f}–{ratio.high:.3f})" if ratio.low is not None and ratio.high is not None else ""
    return f"*{row.verdict.value}*, {ratio.value:.3f}{span}, {len(found.run.blocks[0].generations)} launches"


def _states_on_gpu(path: Path) -> str:
    record = commands.read(path, states.States)
    texts = []
    for case in record.cases:
        chosen = states.calm(case.windows)
        spreads = [
            f"windows {100 * found.window_sd:.2f} %, launches {100 * found.launch_sd:.2f} %"
            for found in (states.spread(case.windows), states.spread(chosen))
            if found is not None
        ]
        counted = f"{len(chosen)} of {len(case.windows)} windows within {states.CALM:.2f}"
        texts.append(
            f"{case.model}: {counted}, correlation {states.correlation(case.windows):.2f}; {'; those: '.join(spreads)}"
        )
    return ". ".join(texts)


def _decoder_on_gpu(path: Path) -> str:
    copy_bytes_per_s = 1e12 * _trial("gpu-ceilings-2026-11-26")["copy_tbs"]
    run = files.read(path)
    works = {one.question: one for one in run.work}

    def one(case: Case, row: Row) -> str:
        if row.call_ns is None:
            return ""
        calls_per_s = 1e9 / row.call_ns.value
        if case.scenario == "prefill":
            return f"{units.rate(calls_per_s * case.depth)} tokens/s"
        moved_bytes = works[case.question].weight_bytes + works[case.question].activation_bytes
        share = units.percent(moved_bytes * calls_per_s / copy_bytes_per_s)
        return f"{units.rate(calls_per_s)} tokens/s, {share} of the bandwidth"

    return _rows_on_gpu(run, one)


def _training_on_gpu(path: Path) -> str:
    products_tflops = _trial("gpu-ceilings-2026-11-26")["products_tflops"]
    run = files.read(path)
    macs = {one.model: one.macs / one.batch for one in run.work}

    def one(case: Case, row: Row) -> str:
        if row.items_per_second is None:
            return ""
        rate = row.items_per_second.value
        share = 3 * 2 * macs[case.model] * rate / (1e12 * products_tflops[case.precision])
        return f"{units.rate(rate)} items/s, {units.percent(share)} of the ceiling"

    return _rows_on_gpu(run, one)


def _own_on_gpu(path: Path) -> str:
    def one(_case: Case, row: Row) -> str:
        return f"{units.rate(row.items_per_second.value)} items/s" if row.items_per_second else ""

    return _rows_on_gpu(files.read(path), one)


def _rows_on_gpu(run: Run, figure: Callable[[Case, Row], str]) -> str:
    """Say what each arm did that gave a result."""
    texts = [(block.case, row, figure(block.case, row)) for block in analyse(run).timed for row in block.rows]
    return "; ".join(
        f"{row.arm.removesuffix('@cuda')}, {case.scenario}, {case.precision}: {text}"
        for case, row, text in texts
        if text
    )


def _upgrade_on_gpu(path: Path) -> str:
    return str(json.loads(path.read_text(encoding="utf-8"))["answer"])


_ENDS = {
    "measured": "Measured, with the expected answer",
    "seen": "Another answer, and seen as another",
    "not judged": "One of two references' that disagree: not judged",
    "not run": "The backend says that it cannot run it",
    "no reference": "ONNX Runtime without optimisations, the reference, says that it cannot run it",
    "refused": "Refused by Levelfield",
    "crashed": "The worker ended",
    "fault": "An error of Levelfield's own",
    "wrong": "A wrong verdict",
}
"""Of cases of ONNX's suite, in the order of the table."""
_ENDS_RIGHT, _ENDS_APART = ("measured", "seen"), ("no reference", "not run")


def _onnx_suite() -> Any:  # noqa: ANN401  (a record)
    return _trial(max(path.stem for path in TRIALS.glob("onnx-suite-*.json")))


def onnx_suite() -> None:
    """Print how the cases of ONNX's suite ended, by backend, and which operators were not measured."""
    record = _onnx_suite()
    counts, backends = record["counts"], ("onnxruntime", "openvino")
    totals = {
        (backend, end): sum(row.get(backend, {}).get(end, 0) for row in counts.values())
        for backend in backends
        for end in _ENDS
    }
    shares = []
    for backend in backends:
        ends = record["plain"][backend]
        right, out = (sum(ends.get(each, 0) for each in some) for some in (_ENDS_RIGHT, _ENDS_APART))
        shares.append(f"{right} of {sum(ends.values()) - out} on {backend}")
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    whole = record["sent"] == record["cases"]
    sent = f"All {record['cases']}" if whole else f"{record['sent']} of the {record['cases']}"
    again = f", {record['again']} of them again, on another machine, after a mend" if record.get("again") else ""
    print(
        f"{sent} cases were sent on {record['started'][:10]}{again} "
        f"({versions}). Of those that the framework runs, and whose values are of types that NumPy has, were "
        f"compared with a right verdict: {', '.join(shares)}.\n"
    )
    timed = [run for run in record["runs"] if all(run["windows"].values()) and all(run["equal"].values())]
    print(
        f"Of {len(record['runs'])} that `bench` measured as whole runs, {len(timed)} ended with both timed and equal.\n"
    )
    show(
        ["Outcome", *backends],
        (
            [title, *(totals[each, end] for each in backends)]
            for end, title in _ENDS.items()
            if any(totals[each, end] for each in backends)
        ),
    )
    first, second = (
        [name for name, ends in counts.items() if not ends.get(backend, {}).keys() & {"measured", "seen"}]
        for backend in backends
    )
    print(f"\nNo case of these was measured on either: {', '.join(name for name in first if name in second)}.")
    for backend, never, other in ((backends[0], first, second), (backends[1], second, first)):
        if alone := [name for name in never if name not in other]:
            print(f"On {backend} neither of these: {', '.join(alone)}.")
