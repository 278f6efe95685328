"""Figures of docs/gpu-verification.md: what was seen on a real GPU, from the records that are committed."""

import datetime as dt
import re
import statistics
from functools import cache
from typing import Any

import msgspec

from studies.device_clock import BARE, OURS, compare
from suite.analysis import analyse
from suite.backends import registry
from suite.record.schema import Absent
from suite.zoo.parity import TOLERANCES
from tests.figures import gpu_again, prints, records
from tests.figures.checking import Figure

PAGE = "docs/gpu-verification.md"
AA, SETTINGS = "20261126-045502-standard-fba3", "20261126-044145-standard-e4c1"
CORE = ("mlp", "resnet50", "bert")
LOWERED = ("fp16", "tf32", "bf16")


@cache
def _trial(name: str) -> Any:
    return msgspec.json.decode((records.TRIALS / f"gpu-{name}-2026-11-26.json").read_bytes())


def _setup() -> list[object]:
    """Return the GPU, its driver, the day, and what ran on it."""
    run = records.run(SETTINGS)
    facts, (day, *_) = run.machine["gpu"], run.started.split("T")
    versions = {image.name: image for image in run.images}
    installed = versions["torch"].distributions
    libraries = {
        library.name
        for block in run.blocks
        for each in block.generations
        for launch in each.launches
        for library in launch.libraries
    }
    (cudnn,) = {re.findall(r"\(cuDNN ([\d.]+)\)", name)[0] for name in libraries if "(cuDNN" in name}
    (runtime,) = {re.findall(r"\(CUDA runtime ([\d.]+)\)", name)[0] for name in libraries if "(CUDA runtime" in name}
    return [
        facts["device 0 name"],
        facts["driver"],
        f"{dt.date.fromisoformat(day).day} and {gpu_again.day():%-d %B %Y}",
        versions["torch"].python,
        installed["torch"].split("+")[0],
        installed["jax"],
        runtime,
        cudnn.rpartition(".")[0],
        run.machine["cpu"]["cores"],
    ]


def _settings() -> list[object]:
    (launches,) = {len(block.generations) for block in records.run(SETTINGS).blocks}
    return [launches]


def _facts() -> list[object]:
    facts = _trial("sensors")["facts"]
    return [sum(one["nvml"] == one["nvidia_smi"] for one in facts), len(facts)]


def _power() -> list[object]:
    load = _trial("sensors")["load"]
    return [prints.in_words(load["seconds"]), f"{load['nvml_power_w']:.0f}", f"{load['smi_power_w']:.0f}"]


def _ceilings() -> list[object]:
    found = _trial("ceilings")
    products = found["products_tflops"]
    return [*(f"{products[each]:.0f}" for each in ("bf16", "fp16", "tf32", "fp32")), f"{found['copy_tbs']:.2f}"]


def _answers() -> list[object]:
    found = _trial("parities")["answers"]
    return [len(found), sum(one["equal"] for one in found)]


def _unequal() -> list[object]:
    found = [one for one in _trial("parities")["answers"] if not one["equal"]]
    assert all(one["case"].startswith("mlp/") and "computed in fp32" in one["reason"] for one in found)
    return [len(found)]


def _but() -> list[object]:
    return [_answers()[0], *_unequal()]


def _hidden() -> list[object]:
    found = {(one["model"], one["tf32"]): one for one in _trial("answers")["answers"]}
    assert all(found[model, False]["equal"] for model, _ in found)
    refused = [found[model, True] for model in ("resnet50", "bert")]
    assert not any(one["equal"] for one in refused)
    (gate,) = {one["tolerance"] for one in refused}
    return [*(prints.power_of_ten(one["relative_error"]) for one in refused), f"{gate:.0e}".replace("e-0", "e-")]


def _clock() -> list[object]:
    (found,) = _trial("clock")
    assert (found["model"], found["batch"], found["memory"]) == ("resnet50", 32, "device")
    again = {one.clock: one for one in compare(found["turns_ns"])}
    values = [f"{statistics.median(found['turns_ns'][OURS]) / 1e6:.2f}"]
    for clock in (BARE, "torch.utils.benchmark", "CUDA events"):
        one = again[clock]
        values += [f"{one.ratio:.4f}", f"{one.low:.4f}", f"{one.high:.4f}"]
    return [found["batch"], *values]


def _identical() -> list[object]:
    control = analyse(records.run(AA)).identical
    assert control is not None
    (block,) = records.run(AA).blocks
    return [block.case.batch, f"{control.ratio.value:.3f}", len(block.generations)]


def _errors(precision: str) -> list[object]:
    cases = {f"{model}/latency/{precision}/" for model in CORE}
    found = [
        one["relative_error"]
        for one in _trial("parities")["answers"]
        if one["equal"] and any(one["case"].startswith(case) for case in cases)
    ]
    return [prints.power_of_ten(min(found)), prints.power_of_ten(max(found))]


def _all_errors() -> list[object]:
    gate = f"{TOLERANCES['fp16']:.0e}".replace("e-0", "e-")
    assert TOLERANCES["fp16"] == TOLERANCES["tf32"]
    return [value for precision in LOWERED for value in _errors(precision)] + [gate]


def _loads(backend: str) -> list[float]:
    return [
        launch.startup.load_ns / 1e9
        for block in records.run(SETTINGS).blocks
        for each in block.generations
        for launch in each.launches
        if launch.arm.split("@")[0] == backend and launch.startup is not None
    ]


def _starting() -> list[object]:
    jax = sorted(_loads("jax"))
    assert jax[-2] < 12 < jax[-1]
    return [f"{statistics.median(_loads('torch-compile')):.0f}", f"{jax[0]:.0f}", f"{jax[-2]:.0f}", f"{jax[-1]:.0f}"]


def _held(backend: str) -> float:
    uses = [
        turn.device.memory_bytes
        for block in records.run(SETTINGS).blocks
        if block.case.model == "resnet50"
        for each in block.generations
        for one in each.rounds
        for turn in one.turns
        if turn.arm == f"{backend}@cuda" and turn.device is not None
    ]
    return max(value for value in uses if not isinstance(value, Absent)) / 1e9


def _memory() -> list[object]:
    allowed = [registry.get(name).process_bytes / 1e9 for name in ("torch", "jax")]
    return [f"{_held('torch'):.1f}", f"{_held('jax'):.1f}", *(f"{value:.1f}" for value in allowed)]


def _left() -> list[object]:
    (fault,) = _trial("memory")["faults"]
    assert (fault["exit_code"], fault["failures"], fault["left_processes"]) == (0, [], 0)
    return [fault["done"].split("all but ")[1].split(" of")[0]]


FIGURES = [
    Figure(
        PAGE,
        "were run on one {} (driver {}) on {}, with the `host` launcher: Python {}, torch {} and JAX {} for CUDA {}, "
        "cuDNN {}, a virtual machine with {} cores.",
        _setup,
    ),
    Figure(PAGE, "CUDA graphs, JAX; {} launches, so nothing is ranked", _settings),
    Figure(PAGE, "releases it runs; {} of {} facts by NVML are those of `nvidia-smi`", _facts),
    Figure(PAGE, "multiplied for {} seconds: {} W by NVML's energy counter, {} W by the samples", _power),
    Figure(PAGE, "products of bf16 {}, fp16 {}, TF32 {} and fp32 {} TFLOP/s; copies {} TB/s", _ceilings),
    Figure(PAGE, "| {} arms of cases, {} equal to the float64 reference:", _answers),
    Figure(
        "docs/gpu.md",
        "of {} arms of cases in fp32, TF32, bf16 and fp16 all are equal to the reference but {} that did",
        _but,
    ),
    Figure("docs/gpu.md", "ONNX Runtime on one {} (driver {}, {}), without", lambda: _setup()[:3]),
    Figure(PAGE, "| The other {} | the MLP in TF32", _unequal),
    Figure(PAGE, "refused for ResNet-50 and BERT (errors {} and {}, the gate is {})", _hidden),
    Figure(
        PAGE,
        "| Clocks | ResNet-50, batch {}, one call {} ms: a window of Levelfield's is {} ({}–{}) times a bare loop, "
        "{} ({}–{}) times `torch.utils.benchmark`, {} ({}–{}) times CUDA's own events",
        _clock,
    ),
    Figure(PAGE, "In an earlier one, batch {}: {} after {} |", _identical),
    Figure(
        PAGE,
        "In fp16 the errors were {} to {}, in TF32 {} to {}, in bf16 {} to {}. The gates of TF32 and fp16 had been "
        "guesses; they are {} now.",
        _all_errors,
    ),
    Figure(PAGE, "loads for some {} s in every launch, JAX for {} to {} s and once for {} s", _starting),
    Figure(PAGE, "held {} GB (torch) and up to {} GB (JAX); the allowances before a model are {} and {} GB", _memory),
    Figure(PAGE, "BERT ran in the {} that another process had left", _left),
]
