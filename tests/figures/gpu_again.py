"""Figures of docs/gpu-verification.md from the second day on a GPU: what was ranked, what failed, what energy is."""

import datetime as dt
import statistics
from functools import cache
from typing import Any

import msgspec

from studies.device_clock import BARE, OURS, compare
from studies.gpu.turns import LONG_WINDOW_NS
from suite.analysis import device
from suite.analysis.types import Row
from suite.compare.types import Row as Compared
from suite.record import files
from suite.record.schema import Absent, Run
from suite.run import ab
from suite.statistics.ending import EndedBy
from suite.statistics.student import fewest_launches
from suite.zoo import models
from tests.figures import prints, records
from tests.figures.checking import Figure

PAGE = "docs/gpu-verification.md"
RANKED = "20261127-050439-standard-0048"


@cache
def _trial(name: str) -> Any:
    return msgspec.json.decode((records.TRIALS / f"gpu-{name}-2026-11-27.json").read_bytes())


def day() -> dt.datetime:
    """Return when the second day's run began, and see that all was as on the first."""
    run = records.run(RANKED)
    versions = {image.name: image.distributions for image in run.images}
    assert versions["torch"]["torch"].startswith("2.11.0")
    assert versions["jax"]["jax"] == "0.11.2"
    return dt.datetime.fromisoformat(run.started)


def _seconds(run: Run) -> int:
    began, ended = (dt.datetime.fromisoformat(each or "") for each in (run.started, run.finished))
    return round((ended - began).total_seconds())


def _rows(precision: str) -> dict[str, Row]:
    (block,) = (each for each in records.analysis(RANKED).timed if each.case.precision == precision)
    return {row.arm: row for row in block.rows}


def _per_second(row: Row) -> list[object]:
    rate = row.items_per_second
    assert rate is not None
    assert rate.low is not None
    assert rate.high is not None
    return [f"{value:.0f}" for value in (rate.value, rate.low, rate.high)]


def _percent(row: Row, decimals: int) -> list[object]:
    assert row.ratio is not None
    assert row.ratio.low is not None
    assert row.ratio.high is not None
    return [f"{100 * (value - 1):.{decimals}f}" for value in (row.ratio.value, row.ratio.low, row.ratio.high)]


def _ranked() -> list[object]:
    fp32, bf16 = _rows("fp32"), _rows("bf16")
    assert (fp32["jax@cuda"].rank, bf16["jax@cuda"].rank) == (1, 1)
    return [
        records.run(RANKED).blocks[0].case.batch,
        *_per_second(fp32["jax@cuda"]),
        *_per_second(fp32["torch@cuda"]),
        *_percent(fp32["torch@cuda"], 1),
        fp32["torch@cuda"].counts.launches,
        *_percent(bf16["torch@cuda"], 0),
        bf16["torch@cuda"].counts.launches,
        _seconds(records.run(RANKED)),
    ]


def _identical() -> list[object]:
    control = records.analysis(RANKED).identical
    assert control is not None
    return [f"{control.ratio.value:.3f}", _rows("fp32")["jax@cuda#2"].counts.launches]


@cache
def _pair(name: str) -> tuple[Run, Compared]:
    found = ab.of_record(records.TRIALS / f"gpu-{name}-2026-11-27.json")
    (row,) = found.comparison.rows
    return found.run, row


def _injected() -> list[object]:
    run, found = _pair("inject")
    (amount,) = {arm.inject for arm in run.blocks[0].arms if arm.inject}
    assert found.ratio is not None
    values = [f"{value:.3f}" for value in (found.ratio.value, found.ratio.low, found.ratio.high)]
    return [
        amount,
        run.blocks[0].case.batch,
        found.verdict.value,
        *values,
        len(run.blocks[0].generations),
        _seconds(run),
    ]


def _undecided() -> list[object]:
    (search, off), (graphs, on) = _pair("search"), _pair("graphs")
    assert off.ratio is not None
    assert on.ratio is not None
    (launches,) = {len(run.blocks[0].generations) for run in (search, graphs)}
    words = [prints.in_words(number) for number in (launches, fewest_launches(EndedBy.VERDICT))]
    return [*words, f"{off.ratio.value:.3f}", search.blocks[0].case.batch, f"{on.ratio.value:.3f}"]


def _faults() -> list[object]:
    found = {one["name"]: one for one in _trial("faults")["faults"]}
    assert not any(one["left_processes"] or one["left_bytes"] for one in found.values())
    assert len(found["killed worker"]["failures"]) == 1
    assert found["killed worker"]["windows"] > 0
    warned = [one["warnings"] for one in _trial("faults")["faults"] if one["name"] == "two runs at once"]
    assert len(warned) == 2
    assert all("Another process was on the GPU" in " ".join(each) for each in warned)
    longest = max(one["released_s"] for one in _trial("faults")["faults"])
    assert longest < 0.02
    return ["0.02"]


def _accuracy() -> list[object]:
    run = files.read(records.TRIALS / "gpu-convergence-2026-11-27.json")
    launches = [launch for each in run.blocks[0].generations for launch in each.launches if launch.convergence]
    steps: dict[int, set[int]] = {}
    for launch in launches:
        trained = launch.convergence
        assert trained is not None
        there = next(point.step for point in trained.points if point.accuracy >= trained.target)
        steps.setdefault(trained.seed, set()).add(there)
    assert all(len(each) == 1 for each in steps.values())
    errors = {one["arm"]: one["relative_error"] for one in _answers("mlp/convergence/")}
    trained = launches[0].convergence
    assert trained is not None
    return [
        f"{100 * trained.target:.0f}",
        prints.in_words(len(steps)),
        prints.power_of_ten(errors["torch@cuda"]),
        prints.power_of_ten(errors["jax@cuda"]),
    ]


def _answers(part: str) -> list[dict[str, Any]]:
    found = [one for one in _trial("parities")["answers"] if part in one["case"]]
    assert found
    assert all(one["equal"] for one in found)
    return found


def _operators() -> list[object]:
    found = _answers("/operators/")
    names = {one["case"].split("/")[0] for one in found}
    assert len(found) == 2 * len(names)
    mobilenet = _answers("mobilenet/")
    assert {"torch@cuda", "jax@cuda", "torch-compile@cuda"} <= {one["arm"] for one in mobilenet}
    assert max(one["relative_error"] for one in (*found, *mobilenet)) < 9e-7
    return [len(names), len(models.operators()), "9e-7"]


def _other_operators() -> list[object]:
    measured, there, _ = _operators()
    return [int(str(there)) - int(str(measured))]


def _onnxruntime() -> list[object]:
    found = {one["case"].split("/")[2]: one for one in _answers("resnet50/latency-device/")}
    (version,) = {one["framework"] for one in found.values() if one["arm"] == "onnxruntime@cuda"}
    (release,) = {one["CUDA it was made for"].partition(".")[0] for one in _torch_settings()}
    return [
        version,
        release,
        *(prints.power_of_ten(found[precision]["relative_error"]) for precision in ("fp32", "tf32", "fp16")),
    ]


def _torch_settings() -> list[dict[str, str]]:
    """Return what torch, whose libraries ONNX Runtime took, said of itself."""
    return [row.settings for arm, row in _rows("fp32").items() if arm.startswith("torch")]


def _fallback() -> list[object]:
    (launch, *_) = (
        launch
        for each in files.read(records.TRIALS / "gpu-no-provider-2026-11-27.json").blocks[0].generations
        for launch in each.launches
        if launch.arm == "onnxruntime@cuda"
    )
    assert launch.failure is not None
    assert "would compute on the CPU in part" in launch.failure.message
    other = files.read(records.TRIALS / "gpu-no-cudnn-2026-11-27.json")
    assert not any(warning.code == "library-shadowed" for warning in other.warnings)
    (name, *_) = (
        library.name
        for each in other.blocks[0].generations
        for launch in each.launches
        for library in launch.libraries
        if launch.arm == "onnxruntime@cuda" and "(cuDNN" in library.name
    )
    return [name.split("(cuDNN ")[1].rpartition(".")[0]]


def _steps() -> list[object]:
    spent = _trial("steps")["spent_s"]
    return [f"{spent['computed']:.1f}", f"{spent['call 0']:.1f}"]


def _energy() -> list[object]:
    block = records.run(RANKED).blocks[0]
    joules: dict[str, list[float]] = {}
    whole: dict[str, list[float]] = {}
    lengths_s = set()
    for each in block.generations:
        for one in each.rounds:
            for turn in one.turns:
                if turn.device is None or turn.window is None or isinstance(turn.device.energy_mj, Absent):
                    continue
                items = block.case.batch * (len(turn.window.samples_ns) + len(turn.window.rewarm_ns))
                joules.setdefault(turn.arm, []).append(turn.device.energy_mj / 1e3 / items)
                whole.setdefault(turn.arm, []).append(turn.device.energy_mj / 1e3)
                lengths_s.add(round(turn.window.window_ns / 1e9, 1))
    assert lengths_s == {0.1}
    found = [statistics.fmean(joules[arm]) for arm in ("jax@cuda", "jax@cuda#2")]
    again = joules["jax@cuda#2"]
    turns = _trial("turns")["energy"]
    values = [f"{value:.3f}" for value in (*found, min(again), max(again))]
    values += [f"{turns[each]:.2f}" for each in ("short_windows_j", "long_window_j")]
    return ["0.1", *values, prints.in_words(LONG_WINDOW_NS / 1e9), device.MIN_WINDOW_S]


def _beside() -> list[object]:
    launches = _trial("turns")["launches"]
    (clock,) = {value for each in _trial("turns")["clocks_mhz"].values() for value in each}
    ratios = [f"{one[name]:.2f}" for name in ("beside_over_alone", "again_over_alone") for one in launches]
    return [_trial("turns")["batch"], *ratios, clock]


def _clocks() -> list[object]:
    found = {one["model"]: one for one in _trial("clock")}
    short, long = (
        next(one for one in compare(found[name]["turns_ns"]) if one.clock == BARE) for name in ("mlp", "resnet50")
    )
    return [
        f"{statistics.median(found['mlp']['turns_ns'][OURS]) / 1e6:.2f}",
        *(f"{value:.3f}" for value in (short.ratio, short.low, short.high)),
        found["resnet50"]["batch"],
        *(f"{value:.4f}" for value in (long.ratio, long.low, long.high)),
    ]


FIGURES = [
    Figure("docs/gpu.md", "an injected slowdown of {} was found", lambda: [str(_injected()[0]).replace("%", " %")]),
    Figure(PAGE, "| {} injected |", lambda: [str(_injected()[0]).replace("%", " %")]),
    Figure("docs/limits.md", "where arms take turns in windows below {} s", lambda: [device.MIN_WINDOW_S]),
    Figure(
        PAGE,
        "ResNet-50, batch {} on the device, in fp32: JAX {} images/s ({}–{}), torch {} ({}–{}), so JAX is {} % "
        "({}–{} %) faster, after {} launches. In bf16 {} % ({}–{} %), after {}: torch's launches differ, since at this "
        "speed the CPU bounds eager mode. The run took {} s",
        _ranked,
    ),
    Figure(PAGE, "identical arms of JAX in that run: {} after {} launches", _identical),
    Figure(
        PAGE,
        "`ab jax jax --inject {}@jax#2`, ResNet-50, batch {}: *{}*, {} ({}–{}), after {} launches in {} s",
        _injected,
    ),
    Figure(
        PAGE,
        "After {} launches, and a verdict takes {}: cuDNN's search off {} (ResNet-50, batch {}; "
        "[record](../reports/trials/gpu-search-2026-11-27.json)), CUDA graphs on {} (the MLP",
        _undecided,
    ),
    Figure(PAGE, "Nothing was left on the GPU {} s later in any of these", _faults),
    Figure(
        PAGE,
        "the MLP trained to {} % of the digits from {} seeds, by torch and JAX in as many steps; both equal to the "
        "reference (errors {} and {})",
        _accuracy,
    ),
    Figure(PAGE, "| {} of {} operators and MobileNetV2, by torch and JAX", lambda: _operators()[:2]),
    Figure(PAGE, "equal, errors below {}", lambda: _operators()[2:]),
    Figure(PAGE, "The other {} operators, and how near", _other_operators),
    Figure(PAGE, "| {} for CUDA {}, ResNet-50: equal in fp32 ({}), TF32 ({}) and fp16 ({})", _onnxruntime),
    Figure(PAGE, "it took the system's {}, answered the same", _fallback),
    Figure(PAGE, "torch took {} s of every launch to say", lambda: _steps()[:1]),
    Figure(PAGE, "its first call takes {} s, with cuDNN's search", lambda: _steps()[1:]),
    Figure(
        PAGE,
        "whose windows last {} s, identical arms of JAX took {} and {} J an image, and windows of one arm from {} to "
        "{} J. A call of torch took {} J in short windows and {} J in one of {} seconds "
        "([turns](../reports/trials/gpu-turns-2026-11-27.json)). The report now shows neither energy nor power where "
        "windows are shorter than {} s",
        _energy,
    ),
    Figure(
        PAGE,
        "the trial of taking turns said nothing with batch {}: beside JAX torch took {} and {} times as long as alone, "
        "and alone again {} and {}. The SM clock was {} MHz throughout",
        _beside,
    ),
    Figure(
        PAGE,
        "(the MLP, {} ms) a window is {} ({}–{}) times a bare loop, which shows nothing. With JAX and ResNet-50, batch "
        "{}, it is {} ({}–{})",
        _clocks,
    ),
]
