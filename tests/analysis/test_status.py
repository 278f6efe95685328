"""Warnings that follow from a record's numbers: each where its text says it belongs, and nowhere else."""

import msgspec
import numpy as np

from levelfield.analysis import analyse
from levelfield.record import warnings as notices
from levelfield.record.schema import Absent, Run, Turn
from levelfield.report import html
from tests.analysis.changed import UNSUPPORTED
from tests.records_builder import CANARY, make_run, with_turns


def codes(run: Run) -> list[str]:
    return [warning.code for warning in analyse(run).warnings]


def message(run: Run, code: str) -> str:
    (found,) = [warning for warning in analyse(run).warnings if warning.code == code]
    return found.message


def with_windows(run: Run, arm: str, factors: dict[tuple[str, int], float]) -> Run:
    """Multiply an arm's samples, by case id and generation."""
    found = msgspec.to_builtins(run)
    for block, plain in zip(run.blocks, found["blocks"], strict=True):
        for generation in plain["generations"]:
            factor = factors.get((block.case.id, generation["index"]), 1.0)
            for turn in (turn for round_ in generation["rounds"] for turn in round_["turns"] if turn["arm"] == arm):
                turn["window"]["samples_ns"] = [int(value * factor) for value in turn["window"]["samples_ns"]]
    return msgspec.convert(found, Run)


def with_noise(run: Run, **changes: object) -> Run:
    """Change what was read around every window."""

    def turn(found: Turn) -> Turn:
        if found.noise is None:
            return found
        return msgspec.structs.replace(found, noise=msgspec.structs.replace(found.noise, **changes))

    return with_turns(run, turn)


def course(step: float, seed: int = 1, generations: int = 10) -> Run:
    """A run of two cases in whose second half the canary is slower by `step`."""
    run = make_run(
        seed=seed,
        models=("mlp",),
        backends=("jax",),
        scenarios=("latency", "throughput"),
        generations=generations,
        rounds=2,
    )
    last = run.blocks[-1]
    factors = {(last.case.id, each.index): 1 + step for each in last.generations}
    return with_windows(run, CANARY, factors)


def test_a_canary_that_moved_is_reported_and_noise_is_not() -> None:
    assert "machine-moved" in codes(course(0.25))
    assert "% slower in the last third" in message(course(0.25), "machine-moved")
    assert "machine-moved" not in codes(course(0.0))


def test_noise_of_a_tenth_rarely_looks_like_a_machine_that_moved() -> None:
    """Independent noise of 10 % moved the medians of thirds by more than the limit in a fifth of runs of 18 points."""
    rng = np.random.default_rng(3)
    base = make_run(models=("mlp",), backends=("jax",), scenarios=("latency",), generations=18, rounds=1, max_calls=3)
    (block,) = base.blocks
    moved = beyond = 0
    for _ in range(150):
        noise = {(block.case.id, index): float(np.exp(rng.normal(0, 0.1))) for index in range(18)}
        canary = analyse(with_windows(base, CANARY, noise)).canary
        assert canary is not None
        assert canary.drift is not None
        beyond += abs(canary.drift) > notices.CANARY_LIMIT
        moved += canary.moved and abs(canary.drift) > notices.CANARY_LIMIT
    assert beyond > 15
    assert moved <= 4


def test_too_few_launches_are_said_once_for_all_cases() -> None:
    run = make_run(models=("mlp", "bert"), backends=("jax", "torch"), generations=2, rounds=2, max_calls=5)
    assert message(run, "too-few-launches").endswith("4 cases are not ranked, such as mlp/latency/fp32/b1/t2/cpu.")
    one = make_run(models=("mlp",), backends=("jax",), scenarios=("latency",), generations=2, rounds=2, max_calls=5)
    assert message(one, "too-few-launches").startswith("2 launches are too few to rank by")
    (few,) = [each for each in analyse(one).warnings if each.code == "too-few-launches"]
    assert few.remedy == "Ask for --profile standard (at least 5 generations)."
    short = msgspec.structs.replace(one, settings=msgspec.structs.replace(one.settings, generations=5))
    (few,) = [each for each in analyse(short).warnings if each.code == "too-few-launches"]
    assert few.remedy.startswith("Give a larger --budget: 600 s were too short")
    assert "too-few-launches" not in codes(msgspec.structs.replace(run, labels=("smoke",)))
    assert "too-few-launches" not in codes(make_run(models=("mlp",), scenarios=("latency",), rounds=2, max_calls=5))


def test_throttling_is_counted_over_all_windows() -> None:
    run = make_run(models=("mlp",), backends=("jax",), scenarios=("latency",), generations=5, rounds=2)
    assert "throttled" not in codes(with_noise(run, throttled=0))
    assert "throttled" not in codes(with_noise(run, throttled=Absent("the kernel does not count it")))
    windows = sum(len(round_.turns) for each in run.blocks[0].generations for round_ in each.rounds)
    assert f"lowered its clock {windows} times" in message(with_noise(run, throttled=1), "throttled")


def test_throttling_by_a_quota_is_counted_beside_the_quota() -> None:
    run = make_run(models=("mlp",), backends=("jax",), scenarios=("latency",), generations=5, rounds=2)
    assert "quota-throttled" not in codes(with_noise(run, quota_throttled=0))
    limited = msgspec.structs.replace(run, machine=run.machine | {"limits": {"CPU limit": 1.5}})
    said = message(with_noise(limited, quota_throttled=1), "quota-throttled")
    assert "quota of 1.5 CPUs was used up: processes were throttled 20 times" in said


def multiplied_by(run: Run, arm: str, kernels: dict[str, int]) -> Run:
    """Let an arm say whose kernels compute its products, in its first generation as a run keeps it."""
    found = msgspec.to_builtins(run)
    for launch in (each for block in found["blocks"] for each in block["generations"][0]["launches"]):
        if launch["arm"] == arm:
            launch["computed"] = {"products": {}, "source": "", "kernels": kernels, "kernels_source": "what it prints"}
    return msgspec.convert(found, Run)


def on_processor_of(run: Run, vendor: str) -> Run:
    return msgspec.structs.replace(run, machine=run.machine | {"cpu": run.machine["cpu"] | {"vendor": vendor}})


def test_a_library_of_another_vendor_is_reported_once_for_an_arm() -> None:
    run = on_processor_of(multiplied_by(make_run(), "torch", {"MKL, AVX2": 73, "oneDNN, jit:avx2": 1}), "AuthenticAMD")
    assert "73 of 74" in message(run, "generic-mkl")
    assert "MKL, AVX2 (73); oneDNN, jit:avx2 (1)" in html.render(run, analyse(run))
    assert "generic-mkl" not in codes(on_processor_of(run, "GenuineIntel"))
    assert "generic-mkl" not in codes(multiplied_by(run, "torch", {"oneDNN, jit:avx2": 74}))


def test_a_run_in_which_nothing_could_be_measured_did_not_run() -> None:
    analysis = analyse(
        make_run(models=("mlp",), backends=("torch-compile",), failures={("torch-compile", "mlp"): UNSUPPORTED})
    )
    assert (len(analysis.status.absent), analysis.exit_code) == (analysis.status.results, 2)


def test_a_run_cut_off_says_so_and_keeps_what_was_measured() -> None:
    run = make_run(models=("mlp", "resnet50"), scenarios=("latency",), finished=False)
    empty = msgspec.structs.replace(run.blocks[1], generations=())
    analysis = analyse(msgspec.structs.replace(run, blocks=(run.blocks[0], empty)))
    assert not analysis.status.finished
    assert "cut-off" in [warning.code for warning in analysis.warnings]
    assert analysis.timed[0].best is not None
    assert {row.standing for row in analysis.timed[1].rows} == {"absent"}
    assert analysis.timed[1].unranked_reason


def test_a_warning_in_the_record_is_not_said_twice() -> None:
    said = analyse(make_run(models=("mlp",), finished=False)).warnings
    lies = tuple(msgspec.structs.replace(each, message="The run was complete.") for each in said)
    assert analyse(make_run(models=("mlp",), finished=False, warnings=lies)).warnings == said
