"""A record that contradicts itself is not called consistent, even where all of its digests fit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from levelfield.compare import contradictions
from levelfield.record import files
from levelfield.record.schema import OwnFile, Run
from tests.analysis.probed import agreeing, probed
from tests.commands import ROOT, run
from tests.compare import pairs
from tests.judged import ITEMS, judged_run
from tests.records_builder import make_run, slower, with_turns
from tests.share.evidence import broken, check, leave, small

Place = tuple[str | int, ...]
Changes = tuple[tuple[Place, Any], ...]
LAUNCH: Place = ("blocks", 0, "generations", 0, "launches", 0)
TURN: Place = ("blocks", 0, "generations", 0, "rounds", 0, "turns", 0)
LEVELS: Place = ("blocks", 0, "generations", 0, "levels")
PARITY: Place = (*LAUNCH, "parity")
TRAINED = make_run(models=("mlp",), backends=("jax", "torch"), scenarios=("training",), max_calls=5)
CONVERGED = make_run(models=("mlp",), backends=("jax",), scenarios=("convergence",), max_calls=5)
DRIVEN = make_run(models=("bert",), backends=("torch",), scenarios=("loadgen-server",), max_calls=5)
STREAMED = make_run(models=("bert",), backends=("torch",), scenarios=("loadgen-single-stream",), max_calls=5)
JUDGED = judged_run()
MANY = make_run(scenarios=("throughput",), max_calls=5)
TEST: Place = (*LAUNCH, "loadgen", "tests", 0)
TRAINING: Place = (*LAUNCH, "convergence")
RIGHT: Place = ("accuracies", 0, "right")
TEXT = """Scenario : Server
Result is : VALID
  Min queries satisfied : Yes
99.00 percentile latency (ns)   : 7
target_qps : 9
target_latency (ns): 5
"""
FIRST = small().blocks[0].generations[0]
STEAL = [{"signal": "steal", "value": 0.01, "limit": 0.02}]
IMPORTED = {"tool": "pyperf", "version": "2", "sha256": "0" * 64, "recorded": "2026-11-21T10:15:00Z"}
ROUND: Place = ("blocks", 0, "generations", 0, "rounds", 0)
STOLEN = [
    {**turn, "noise": {**turn["noise"], "steal_ns": turn["noise"]["elapsed_ns"]}}
    for turn in msgspec.to_builtins(FIRST.rounds[0].turns)
]
PROBED = agreeing(probed(small(), lambda *_: ("calm",)))
FAILED = {"stage": "load", "kind": "crashed", "message": "It ended."}


def changed(of: Run, *changes: tuple[Sequence[str | int], Any]) -> Run:
    plain = msgspec.to_builtins(of)
    for place, value in changes:
        held = plain
        for step in place[:-1]:
            held = held[step]
        held[place[-1]] = value
    return msgspec.convert(plain, Run)


MANY_WINDOWS = make_run(models=["mlp"], backends=["jax"], scenarios=["latency"], generations=5, rounds=4, max_calls=12)


def longer(run: Run, arm: str) -> Any:
    """Let the windows of an arm be twice as long as its calls."""
    generations = msgspec.to_builtins(run.blocks[0].generations)
    for turn in (turn for each in generations for taken in each["rounds"] for turn in taken["turns"]):
        if turn["arm"] == arm:
            turn["window"]["window_ns"] = 2 * sum(turn["window"]["samples_ns"])
    return generations


CHANGES: dict[str, tuple[Run, Place, Any]] = {
    "is equal with a relative error of 5.0e+00": (small(), (*PARITY, "relative_error"), 5.0),
    "is equal with a centred error of 1.0e-04": (small(), (*PARITY, "centred_error"), 1e-4),
    "where 9.0e+00 are allowed": (small(), (*PARITY, "tolerance"), 9.0),
    "is equal, and says why it is not": (small(), (*PARITY, "reason"), "It holds NaN."),
    "is not equal, for no reason": (small(), (*PARITY, "equal"), False),
    "is equal with a training error of the weights": (TRAINED, (*PARITY, "training", "errors", "weights"), 0.9),
    "the label 'injected' is missing": (small(), ("blocks", 0, "arms", 0, "inject"), "50%"),
    "the label 'injected' has no reason": (small(), ("labels",), ["injected"]),
    "the label 'smoke' is missing": (small(), ("settings", "profile"), "smoke"),
    "of the launcher host, which no arm has": (small(), ("images", 0, "launcher"), "host"),
    "of the launcher docker, which no arm has": (small(), ("settings", "launcher"), "host"),
    "is said to be locked otherwise": (small(), ("images", 0, "unlocked"), "It is of the host."),
    "a launch of jax without an image": (small(), ("images",), []),
    "jax in version 99.9, which its image does not hold": (small(), (*LAUNCH, "framework_version"), "99.9"),
    "it is equal, of no inputs": (small(), (*PARITY, "inputs"), 0),
    "the label 'ab' is missing": (small(), ("command",), ["levelfield", "ab", "jax", "onnxruntime"]),
    "its sides are not those of the settings, or in another order": (
        changed(small(), (("labels",), ["ab"]), (("settings", "ends_on_verdict"), True)),
        ("settings", "backends"),
        ["onnxruntime", "jax"],
    ),
    "a window of jax without its launch": (
        changed(small(), (("resumed",), ["2026-11-21T10:16:00Z"])),
        LAUNCH[:-1],
        [each for each in msgspec.to_builtins(FIRST.launches) if each["arm"] != "jax"],
    ),
    "a window of jax, whose answer was not compared": (small(), PARITY, None),
    "memory was to be measured, and there is no case of it": (
        small(), ("blocks",), msgspec.to_builtins(small().blocks[:1]),
    ),
    "launches of jax in several versions": (small(), (*LAUNCH, "framework_version"), "0.0"),
    "launches of onnxruntime in several versions, or of several model files": (
        small(), (*LAUNCH[:-1], 1, "onnx_sha256"), "0" * 64,
    ),
    "arms with different weights": (small(), (*LAUNCH, "weights_sha256"), "0" * 64),
    "arms with other weights than those of the run": (
        small(), ("artifacts",), [{"name": "mlp weights", "sha256": "0" * 64, "size_bytes": 1}],
    ),
    "a time without its zone": (small(), ("started",), "2026-11-21T10:15:00"),
    "times that cannot be checked": (small(), (*LAUNCH, "started"), "yesterday"),
    "arms with different inputs": (small(), (*LAUNCH, "inputs_sha256"), "0" * 64),
    "a launch outside of the time of the run": (small(), (*LAUNCH, "started"), "2020-01-01T00:00:00Z"),
    "s in a run of 552 s": (small(), (*TURN, "window", "window_ns"), 10**13),
    "a window of numpy that is shorter than its calls": (small(), (*TURN, "window", "calls_not_kept"), 1),
    "shorter than its time of the CPUs": (small(), (*TURN, "window", "user_ns"), 10**12),
    "windows of jax that are longer than their calls": (
        MANY_WINDOWS, ("blocks", 0, "generations"), longer(MANY_WINDOWS, "jax"),
    ),
    "a launch of jax that took longer than the run": (small(), (*LAUNCH, "startup", "load_ns"), 10**13),
    "more memory of jax than at its peak": (small(), (*LAUNCH, "memory", "peak_rss_bytes"), 1_000_000),
    "is said to be disturbed by moonlight, and no window of it was": (
        small(), (*ROUND, "disturbed"), [{"signal": "moonlight", "value": 1.0, "limit": 0.5}],
    ),
    "shorter than its calls": (small(), (*TURN, "window", "window_ns"), 1),
    "a window of an arm that it does not have": (small(), (*TURN, "arm"), "torch"),
    "a launch of an arm that it does not have": (small(), (*LAUNCH, "arm"), "torch"),
    ", which failed": (small(), (*TURN, "failure"), FAILED),
    "steal disturbed it within its limit": (
        small(), ("blocks", 0, "generations", 0, "rounds", 0, "disturbed"), STEAL,
    ),
    "the image exporter cpu is of the launcher docker, which no arm has": (
        small(), ("images", 1, "name"), "exporter",
    ),
    "the image jax cpu@9.9 does not hold that version": (small(), ("images", 1, "variant"), "cpu@9.9"),
    "its arms are not the backends of the settings, by torch": (
        small(), ("settings", "backends"), ["jax", "onnxruntime", "torch"],
    ),
    "its arms are not the backends of the settings, by onnxruntime": (small(), ("settings", "backends"), ["jax"]),
    "its arms are not the backends of the settings, by jax": (TRAINED, ("settings", "backends"), ["torch"]),
    "more threads than the CPUs of the run, of which there are 2": (small(), ("blocks", 0, "case", "threads"), 64),
    "bert, for which the settings do not ask": (small(), ("blocks", 0, "case", "model"), "bert"),
    "training, for which the settings do not ask": (small(), ("blocks", 0, "case", "scenario"), "training"),
    "bf16, for which the settings do not ask": (small(), ("blocks", 0, "case", "precision"), "bf16"),
    "it is of the device cuda, and no GPU was used": (small(), ("blocks", 0, "case", "device"), "cuda"),
    "jax loaded torch, which its image does not hold": (
        small(),
        (*LAUNCH, "libraries"),
        [{"name": "libtorch.so", "path": "torch/lib/libtorch.so", "kind": "framework"}],
    ),
    "a cosine of -1.0e+00": (small(), (*PARITY, "cosine"), -1.0),
    "a share of 2.0e+00": (small(), (*PARITY, "top_1"), 2.0),
    "an error of -5.0e+00": (small(), (*PARITY, "max_abs_error"), -5.0),
    "the command asks for another --margin": (
        changed(small(), (("command",), ["levelfield", "ab", "jax", "torch"])), ("settings", "margin"), 0.5,
    ),
    "the command asks for no --max-slowdown": (small(), ("settings", "max_slowdown"), 0.9),
    "it is equal, computed in bf16": (small(), (*PARITY, "computed_in"), "bf16"),
    "it is equal in fp32, with products in bf16": (
        small(), (*LAUNCH, "computed"), {"products": {"bf16": 9, "fp32": 1}, "source": "the graph"},
    ),
    "is said to be disturbed by others, and no window of it was": (
        small(), (*ROUND, "disturbed"), [{"signal": "others", "value": 0.31, "limit": 0.05}],
    ),
    "is not said to be disturbed by steal, and every window of it was": (small(), (*ROUND, "turns"), STOLEN),
    "was disturbed otherwise than its noise shows": (
        PROBED, (*TURN, "outside"), [{"signal": "others", "value": 0.9, "limit": 0.05}],
    ),
    "levels of 1000 probes, where 108 to 108 had been made": (PROBED, (*LEVELS, "probes"), 1000),
    "levels of 100 probes, where 108": (PROBED, (*LEVELS, "probes"), 100),
    "too many probes are below the level of memory": (PROBED, (*LEVELS, "memory_ns"), 400_001),
    "0% of the probes are said to lie where 78 of 108 do": (PROBED, (*LEVELS, "low_share"), 0.0),
    "90% of the probes are said to lie where 30 of 108 do": (PROBED, (*LEVELS, "high_share"), 0.9),
    "jax computed on 64 threads": (small(), (*LAUNCH, "settings"), {"threads": "64 (by affinity)"}),
    "jax computed everything in fp32": (
        changed(small(), (("blocks", 0, "case", "precision"), "bf16")),
        (*LAUNCH, "settings"),
        {"precision": "everything in fp32"},
    ),
    "no generation is planned": (small(), ("blocks", 0, "planned_generations"), 0),
    "a batch of 8, for which": (small(), ("blocks", 0, "case", "batch"), 8),
    "a batch of 512, for which": (MANY, ("blocks", 0, "case", "batch"), 512),
    "it is of no device: zzz": (small(), ("blocks", 0, "case", "device"), "zzz"),
    "does not end with its verdict": (small(), ("labels",), ["ab"]),
    "less than no memory of jax": (small(), (*LAUNCH, "memory", "rss_bytes"), -5),
    "the command asks for another profile than standard": (
        small(), ("command",), ["levelfield", "bench", "--profile", "standard", "--profile=full"],
    ),
    "the command asks for a slowdown": (small(), ("command",), ["levelfield", "bench", "--inject", "jax=5%"]),
    "a time that is yet to come": (small(), ("finished",), "2999-11-21T10:15:00Z"),
    "generations out of order": (small(), ("blocks", 0, "generations", 0, "index"), 9),
    "or some are missing": (small(), ("blocks", 0, "generations", 2, "index"), 3),
    "2 of 7 generations are missing, and nothing": (
        changed(
            small(), (("warnings",), [{"code": "budget-spent", "message": ""}]), (("settings", "budget_seconds"), None)
        ),
        ("blocks", 0, "planned_generations"),
        7,
    ),
    "it holds what no file of pyperf does": (small(), ("imported",), IMPORTED),
    "another --margin than the settings": (small(), ("command",), ["levelfield", "ab", "--margin", "1%"]),
    "999999995 of 1000000000 generations are missing, and nothing says why": (
        small(), ("blocks", 0, "planned_generations"), 10**9,
    ),
    "1 of 5 generations are missing": (small(), ("blocks", 0, "generations", 2, "complete"), False),
    "arms that were left out, in a run that leaves none out": (
        small(), ("blocks", 0, "left"), [{"arm": "jax", "launches": 3, "behind": ["onnxruntime"]}],
    ),
    "generation 0 lacks rounds": (small(), ("blocks", 0, "generations", 0, "rounds", 1, "index"), 3),
    "generation 0 lacks windows of arms": (small(), ("blocks", 0, "generations", 0, "rounds", 1, "turns"), []),
    "generation 0 without jax, onnxruntime, which did not fail": (
        small(), ("blocks", 0, "generations", 0, "launches"), [],
    ),
    "generation 1 began before 0 can have ended": (
        small(), ("blocks", 0, "generations", 1, "launches", 0, "started"), "2026-11-21T10:14:58Z",
    ),
    "jax is measured twice to the nanosecond": (
        small(),
        ("blocks", 0, "generations", 1, "launches", 0, "startup"),
        msgspec.to_builtins(FIRST.launches[0].startup),
    ),
    "onnxruntime is measured twice to the nanosecond": (
        small(), ("blocks", 0, "generations", 2, "rounds"), msgspec.to_builtins(FIRST.rounds),
    ),
    "a test of torch in another scenario": (DRIVEN, (*LAUNCH, "loadgen", "scenario"), "Offline"),
    "cannot have said: 99.00 percentile latency (ns), target_latency (ns), target_qps": (
        DRIVEN, (*TEST, "summary"), f"{TEXT}.",
    ),
    "cannot have said: Result is": (STREAMED, (*TEST, "summary"), "Result is : INVALID\n."),
    "cannot have said: Scenario": (STREAMED, (*TEST, "summary"), "Scenario : Offline\n."),
    "cannot have said: Samples per second": (STREAMED, (*TEST, "summary"), "Samples per second: 1\n."),
    "cannot have said: samples": (STREAMED, (*TEST, "samples"), 10**4),
    "cannot have said: elapsed time": (STREAMED, (*TEST, "elapsed_ns"), 1),
    "cannot have said: percentiles out of order": (STREAMED, (*TEST, "percentiles_ns"), {"90.00": 9, "50.00": 10}),
    "cannot have said: late": (DRIVEN, (*TEST, "late"), 100),
    "torch of which LoadGen cannot have said: late": (DRIVEN, (*LAUNCH, "loadgen", "target_ns"), 1),
    "torch is measured twice to the nanosecond": (
        DRIVEN, (*LAUNCH, "loadgen"), msgspec.to_builtins(DRIVEN.blocks[0].generations[1].launches[0].loadgen),
    ),
    "mlp/convergence/fp32/b64/t2/cpu: jax is measured twice": (
        CONVERGED, TRAINING, msgspec.to_builtins(CONVERGED.blocks[0].generations[1].launches[0].convergence),
    ),
    "trainings with different targets": (CONVERGED, (*TRAINING, "target"), 0.1),
    "trainings that began otherwise than their generation's seed says": (CONVERGED, (*TRAINING, "seed"), 1),
    "evaluations that no training has": (CONVERGED, (*TRAINING, "points", 0, "elapsed_ns"), 10**12),
    "called right without labels": (JUDGED, ("data_sets", 0, "labels"), []),
    "right and not among the first five": (JUDGED, (*RIGHT, "top-5"), [0] * ITEMS),
    "are neither right nor wrong": (JUDGED, (*RIGHT, "top-5"), [2] * ITEMS),
    "an arm that no case has": (JUDGED, ("accuracies", 0, "arm"), "tvm"),
    "those of another arm, and are judged otherwise": (JUDGED, (*RIGHT, "top-5"), [0, 0, *[1] * (ITEMS - 2)]),
    "of which more is right than all": (JUDGED, ("accuracies", 0, "shares"), {"F1 of words": [3.0] * ITEMS}),
    "that match exactly, and not word by word": (
        changed(JUDGED, (("accuracies", 0, "shares"), {"F1 of words": [0.0] * ITEMS})),
        (*RIGHT, "exact match"),
        [1] * ITEMS,
    ),
    "that is valid and invalid": (DRIVEN, (*LAUNCH, "loadgen", "tests", 0, "why_invalid"), "Too few queries."),
}  # fmt: skip


@pytest.mark.parametrize(("field", "value"), [("calls_not_kept", 10**9), ("calls_per_sample", 10**6)])
def test_calls_that_fit_into_no_window_are_a_contradiction(field: str, value: int) -> None:
    said = list(contradictions.of(changed(small(), ((*TURN, "window", field), value))))
    assert [each.endswith("that is shorter than its calls") for each in said] == [True]


def test_windows_are_about_as_long_as_the_supervisor_waited() -> None:
    made = make_run(models=["resnet50"], backends=["jax", "onnxruntime"], scenarios=["latency"], max_calls=5)
    honest = agreeing(probed(made, lambda *_: ("calm",)))
    assert list(contradictions.of(honest)) == []
    halved = with_turns(honest, lambda turn: slower(turn, 0.5), "jax")
    (said,) = contradictions.of(halved)
    assert said.endswith("windows of jax that are shorter than the supervisor waited for them")


def test_a_window_without_a_call_is_a_contradiction() -> None:
    said = "".join(contradictions.of(changed(small(), ((*TURN, "window", "samples_ns"), []))))
    assert said.endswith("without a call")


@pytest.mark.parametrize("of", [small(), TRAINED, CONVERGED, DRIVEN, STREAMED, JUDGED, make_run(max_calls=5)])
def test_a_run_as_it_was_measured_agrees_with_itself(of: Run) -> None:
    assert list(contradictions.of(of)) == []


def own(**fields: Any) -> Any:
    """A user's own file, which `small` is about."""
    return msgspec.to_builtins(
        OwnFile("mlp", "m.onnx", "0" * 64, 1, (), **{"outputs": ("y",), **fields}, precision="fp32", opset=17)
    )


def otherwise(place: Place, value: Any, *more: tuple[Place, Any], of: Run | None = None) -> str:
    """What is said of a record in which the first launch's parity has another value."""
    return "\n".join(contradictions.of(changed(of or small(), ((*PARITY, *place), value), *more)))


@pytest.mark.parametrize(
    ("of", "place", "value", "said"),
    [
        (small(), ("tolerance",), 0.99, "9.9e-01 allowed for its relative error, where the rules allow 1.0e-05"),
        (small(), ("tolerance",), 1.1e-5, "where the rules allow 1.0e-05"),
        (small(), ("tolerance",), -1.0, "where the rules allow 1.0e-05"),
        (small(), ("centred_tolerance",), 2e-5, "for its centred error, where the rules allow 1.0e-05"),
        (small(), ("element_tolerance",), 0.6, "for its largest error of a number, where the rules allow 5.0e-01"),
        (TRAINED, ("tolerance",), 1e-5, "for its relative error, where the rules allow 1.9e-06"),
        (TRAINED, ("training", "tolerances", "weights"), 0.1, "for its training error of the weights, where"),
        (TRAINED, ("training", "tolerances", "update"), 0.1, "for its training error of the update, where"),
        (CONVERGED, ("training", "tolerances", "losses"), 0.1, "error of the losses, where the rules allow 3.4e-06"),
    ],
)  # fmt: skip
def test_no_answer_may_be_off_by_more_than_the_rules_allow(of: Run, place: Place, value: float, said: str) -> None:
    """Whatever its record says that it may be: 0.5 was called equal where a record allowed 0.99."""
    assert said in otherwise(place, value, of=of)
    assert said in otherwise(place, value, ((*PARITY, "equal"), False), ((*PARITY, "reason"), "It is not."), of=of)


def test_a_users_own_file_may_be_off_as_far_as_its_reference_moves() -> None:
    settings: Changes = ((("settings", "own"), own(outputs=("y", "z"))),)
    assert otherwise(("tolerance",), 0.2, *settings) == ""
    assert "where the rules allow 2.0e-01 at the most" in otherwise(("tolerance",), 0.21, *settings)


@pytest.mark.parametrize(
    ("field", "value"), [("tolerance", 5e-6), ("element_tolerance", 0.1), ("centred_tolerance", 9e-6)]
)
def test_all_arms_of_a_case_are_judged_by_the_same_tolerances(field: str, value: float) -> None:
    assert otherwise((field,), value).endswith("arms with different tolerances")
    assert otherwise((field,), value, (("settings", "own"), own())).endswith("arms with different tolerances")
    assert otherwise((field,), value, (("settings", "own"), own(outputs=("y", "z")))) == "", "the worst output's"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"model": "m-1"}, ["m-1 is not measured, and of m.onnx", "mlp is measured, and not of m.onnx"]),
        ({"also": [{"model": "m-2", "dimensions": {"n": 2}}]}, ["m-2 is not measured, and of m.onnx"]),
        ({"also": [{"model": "mlp", "dimensions": {"n": 2}}]}, ["m.onnx with the same sizes or function twice"]),
        (
            {"also": [{"model": "m-2"}]},
            ["m.onnx with the same sizes or function twice", "m-2 is not measured, and of m.onnx"],
        ),
    ],
)  # fmt: skip
def test_a_users_own_file_is_what_was_measured(fields: dict[str, Any], said: list[str]) -> None:
    assert list(contradictions.of(changed(small(), (("settings", "own"), own() | fields)))) == said


def test_cases_of_ones_own_file_that_an_interrupted_run_did_not_reach_count() -> None:
    block = msgspec.to_builtins(small().blocks[0])
    other = block | {"case": block["case"] | {"model": "m-2"}, "generations": []}
    made = own() | {"also": [{"model": "m-2", "dimensions": {"n": 2}}]}
    blocks = [*msgspec.to_builtins(small().blocks), other]
    changes: Changes = (
        (("blocks",), blocks),
        (("settings", "own"), made),
        (("settings", "models"), ["mlp", "m-2"]),
        (("finished",), None),
    )
    assert list(contradictions.of(changed(small(), *changes))) == []


LOWER: Changes = (
    (("blocks", 0, "case", "precision"), "bf16"),
    ((*PARITY, "tolerance"), 0.03),
    ((*PARITY, "centred_error"), 0.084),
)
STEPS: Changes = (((*PARITY, "element_error"), 1.2), ((*PARITY, "element_tolerance"), 2.0))


def test_a_centred_error_is_held_against_the_tolerance_that_it_was_judged_by() -> None:
    """MobileNet in bf16 on PyTorch: what it may be follows from the reference, and is recorded."""

    def said(*more: tuple[Place, Any]) -> str:
        return "\n".join(contradictions.of(changed(small(), *LOWER, *more)))

    assert "centred error of 8.4e-02, where 7.5e-02" in said(), "of a record that does not say it"
    assert "centred" not in said(((*PARITY, "centred_tolerance"), 0.5))
    assert "where 8.0e-02" in said(((*PARITY, "centred_tolerance"), 0.08))
    wide = said(((*PARITY, "centred_tolerance"), 0.9), ((*PARITY, "centred_error"), 0.8))
    assert "9.0e-01 allowed for its centred error, where the rules allow 5.0e-01 at the most" in wide


def test_single_numbers_of_ones_own_file_may_move_further_than_their_size() -> None:
    """Answers in steps, and inputs to which a network answers nearly alike: neither decides alone."""
    assert "largest error of a number of 1.2e+00" in "\n".join(contradictions.of(changed(small(), *STEPS)))
    block = small().blocks[0]
    changes = (*STEPS, ((*PARITY, "centred_error"), 0.3), (("settings", "own"), own(outputs=("y", "z"))))
    assert block.generations[0].launches[0].arm != block.canary
    assert list(contradictions.of(changed(small(), *changes))) == []


@pytest.mark.parametrize("said", CHANGES)
def test_a_contradiction_is_named(said: str) -> None:
    of, place, value = CHANGES[said]
    assert said in "\n".join(contradictions.of(changed(of, (place, value))))


def test_levels_need_not_be_of_what_is_not_recorded() -> None:
    """A damaged journal lost probes, and an earlier run knew a lower mode."""
    assert list(contradictions.of(PROBED)) == []
    lost = ((*LEVELS, "probes"), 1000), (("warnings",), [{"code": "journal-damaged", "message": ""}])
    assert list(contradictions.of(changed(PROBED, *lost))) == []
    known = ((*LEVELS, "arithmetic_ns"), 800_000), ((*LEVELS, "low_share"), 0.0), ((*LEVELS, "kept"), True)
    assert list(contradictions.of(changed(PROBED, *known))) == []


def test_no_error_hides_another_contradiction() -> None:
    """A time without a zone cannot be compared with others, and a worker's own clock needs no other time."""
    long: Changes = (((*TURN, "window", "window_ns"), 10**15),)
    for started in ("2026-11-21T10:15:00", "2026-11-21T10:15:00+00:00"):
        found = list(contradictions.of(changed(small(), *long, (("started",), started))))
        assert any("windows of 10000" in each for each in found), found
    damaged = changed(small(), ((*LAUNCH, "started"), ""), (("labels",), ["smoke"]), ((*PARITY, "inputs"), 0))
    assert len(list(contradictions.of(damaged))) == 3


def test_each_arm_is_of_the_version_in_its_own_image() -> None:
    made = pairs.ended(pairs.run(models=("mlp",), scenarios=("latency",), generations=1, rounds=1, max_calls=5))
    assert list(contradictions.of(made)) == []
    variants = [each.variant for each in made.images]
    assert len(variants) == 2
    swapped = (
        msgspec.structs.replace(image, variant=name)
        for image, name in zip(made.images, reversed(variants), strict=True)
    )
    said = "\n".join(contradictions.of(msgspec.structs.replace(made, images=tuple(swapped))))
    assert "onnxruntime@1.30.0 in version 1.30.0, which its image does not hold" in said


def test_calls_that_are_not_kept_may_be_shorter_than_those_that_are() -> None:
    """In two states of a clock: nearly half of the calls may take next to nothing."""
    window = next(turn for turn in small().blocks[0].generations[0].rounds[0].turns).window
    assert window is not None
    half = (1,) * 450 + (1_000,) * 550
    times = {"samples_ns": half, "calls_not_kept": 1_000, "window_ns": 1_101_000, "user_ns": 0, "system_ns": 0}
    of = changed(small(), ((*TURN, "window"), msgspec.to_builtins(msgspec.structs.replace(window, **times))))
    assert list(contradictions.of(of)) == []


def test_a_record_that_contradicts_itself_is_broken_whatever_its_digests_say(tmp_path: Path) -> None:
    of, place, value = CHANGES["is equal with a relative error of 5.0e+00"]
    folder = leave(changed(of, (place, value)), tmp_path / "run")
    assert "The record contradicts itself." in broken(check(folder))
    done = run("verify", folder, folder=tmp_path, code=1)
    assert "is equal with a relative error of 5.0e+00" in done.out


@pytest.mark.parametrize("folder", sorted((ROOT / "reports").glob("2026*")), ids=lambda folder: folder.name)
def test_published_runs_agree_with_themselves(folder: Path) -> None:
    assert list(contradictions.of(files.read(folder))) == []


def test_an_interrupted_run_need_not_know_what_its_images_hold() -> None:
    made = small()
    images = tuple(msgspec.structs.replace(each, distributions={}) for each in made.images)
    assert list(contradictions.of(msgspec.structs.replace(made, images=images)))
    assert not list(contradictions.of(msgspec.structs.replace(made, images=images, finished=None)))


def lacking(*, arm: str = "jax", **fields: Any) -> list[str]:
    """What is said of a record of which one arm is in no generation after the first."""
    run = changed(small(), *(((name,), value) for name, value in fields.items()))
    plain = msgspec.to_builtins(run)
    for generation in plain["blocks"][0]["generations"][1:]:
        generation["launches"] = [each for each in generation["launches"] if each["arm"] != arm]
        for round_ in generation["rounds"]:
            round_["turns"] = [each for each in round_["turns"] if each["arm"] != arm]
    return list(contradictions.of(msgspec.convert(plain, Run)))


def test_an_arm_is_absent_after_failures_and_from_a_run_that_was_resumed() -> None:
    """Of a launch that failed before a run was cut off, a resumed one has no record."""
    assert len(lacking()) == 4
    assert lacking(resumed=["2026-11-21T10:16:00Z"]) == []
    failed = changed(small(), ((*LAUNCH, "failure"), FAILED))
    turns = [[turn for turn in each["turns"] if turn["arm"] != "jax"] for each in msgspec.to_builtins(FIRST.rounds)]
    places = [(*LAUNCH[:4], "rounds", index, "turns") for index in range(len(turns))]
    failed = changed(failed, *zip(places, turns, strict=True))
    assert lacking(blocks=msgspec.to_builtins(failed.blocks)) == []


def test_a_canary_may_be_lost_between_two_windows() -> None:
    kept = [turn for turn in msgspec.to_builtins(FIRST.rounds[2].turns) if turn["arm"] != small().blocks[0].canary]
    assert len(kept) == 2
    assert list(contradictions.of(changed(small(), ((*TURN[:4], "rounds", 2, "turns"), kept)))) == []


@pytest.mark.parametrize("code", ["budget-spent", "journal-damaged"])
def test_a_warning_explains_what_was_not_made(code: str) -> None:
    blocks = msgspec.to_builtins(small().blocks)
    blocks[0]["generations"] = blocks[0]["generations"][:3]
    assert len(list(contradictions.of(changed(small(), (("blocks",), blocks))))) == 1
    warned = [{"code": code, "message": "It is said."}]
    assert list(contradictions.of(changed(small(), (("blocks",), blocks), (("warnings",), warned)))) == []
    assert list(contradictions.of(changed(small(), (("blocks",), blocks), (("finished",), None)))) == []


def test_an_arm_of_a_version_ran_in_an_image_of_it() -> None:
    """Launches, image and what it holds are all changed: the name of the arm is left."""
    made = pairs.ended(pairs.run(models=("mlp",), scenarios=("memory",), generations=1, max_calls=5))
    launch: Place = (*LAUNCH, "framework_version")
    held: Place = ("images", 1, "distributions", "onnxruntime")
    said = "mlp/memory/fp32/b1/t2/cpu: a launch of onnxruntime@1.30.0 in version 1.31.1"
    without = changed(msgspec.structs.replace(made, images=made.images[:1]), (launch, "1.31.1"))
    assert list(contradictions.of(without)) == [said, "a launch of onnxruntime@1.30.0 without an image"]
    other = changed(made, (launch, "1.31.1"), (held, "1.31.1"))
    assert list(contradictions.of(other)) == [said, "the image onnxruntime cpu@1.30.0 does not hold that version"]
    both = changed(made, (launch, "1.31.1"), (("images", 1, "distributions", "another"), "1.31.1"))
    assert list(contradictions.of(both)) == [said]
    assert list(contradictions.of(changed(made, (held, "1.30"), (launch, "1.30")))) == []
    name = "1.30.0~numpy~0a1b2c"
    mixed: Changes = (
        (("settings", "backends"), [f"onnxruntime@{name}", "onnxruntime"]),
        (("blocks", 0, "arms", 0, "version"), name),
        ((*LAUNCH, "arm"), f"onnxruntime@{name}"),
        (("images", 1, "variant"), f"cpu@{name}"),
    )
    assert list(contradictions.of(changed(made, *mixed, (held, "1.29"), (launch, "1.29")))) == []
