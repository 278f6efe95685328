"""Who lives on a GPU together, decided from what is known of its memory."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from levelfield.machine.device_use import Device
from levelfield.record.schema import Absent, Arm, Case, Run
from levelfield.schedule.gpu_sharing import MemoryGroup, MemorySharing, estimate, memory_groups, sharing_of
from tests import canaries
from tests.canaries import ARMS
from tests.records_builder import make_run

if TYPE_CHECKING:
    from levelfield.scenarios import ScenarioName


GIB = 1 << 30
TORCH, JAX, ORT = (Arm(name, name, variant="cu13") for name in ("torch", "jax", "onnxruntime"))
TWIN = msgspec.structs.replace(ORT, ordinal=2)
CASE = Case("resnet50", "latency", "fp32", 1, 2, "cuda")


class Card(Device):
    """A GPU of which only the free memory is asked."""

    def __init__(self, free: int | Absent) -> None:
        self.free = free

    def free_bytes(self) -> int | Absent:
        return self.free


def names(found: list[MemoryGroup]) -> list[list[str]]:
    return [[arm.id for arm in group] for group in found]


def sharing(free: int | Absent, *, one_process: bool = False) -> MemorySharing:
    made = MemorySharing(Card(free), one_process=one_process)
    made.read_free_memory()
    return made


# ---- the division ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arms", "needs_gib", "room_gib", "apart", "expected"),
    [
        pytest.param((TORCH, JAX, ORT), (2, 2, 2), 6, (), [["torch", "jax", "onnxruntime"]], id="all fit"),
        pytest.param((TORCH, JAX, ORT), (3, 4, 2), 5, (), [["torch", "onnxruntime"], ["jax"]], id="first fit"),
        pytest.param((TORCH, JAX, ORT), (9, 1, 1), 4, (), [["torch"], ["jax", "onnxruntime"]], id="one fits nowhere"),
        pytest.param(
            (TORCH, ORT, JAX, TWIN), (3, 2, 2, 2), 5, (), [["torch", "jax"], ["onnxruntime", "onnxruntime#2"]],
            id="a control stays with its twin",
        ),
        pytest.param((ORT, TWIN), (2, 2), 3, (), [["onnxruntime"], ["onnxruntime#2"]], id="unless both do not fit"),
        pytest.param((TORCH, JAX, ORT), (1, 1, 1), 9, (JAX,), [["torch", "onnxruntime"], ["jax"]], id="one apart"),
    ],
)  # fmt: skip
def test_arms_are_divided_into_as_few_groups_as_fit(
    arms: tuple[Arm, ...], needs_gib: tuple[int, ...], room_gib: int, apart: tuple[Arm, ...], expected: list[list[str]]
) -> None:
    needs = {arm.id: gib * GIB for arm, gib in zip(arms, needs_gib, strict=True)}
    found = names(memory_groups(arms, needs, room_gib * GIB, apart=[arm.id for arm in apart]))
    assert [[name.replace("@cu13", "") for name in group] for group in found] == expected


# ---- what is known ---------------------------------------------------------------------------------------------------


def test_what_was_seen_counts_more_than_what_was_guessed() -> None:
    known = sharing(80 * GIB)
    guessed = known.need(CASE, TORCH)
    known.record_memory_use(CASE, {TORCH.id: 3 * GIB, JAX.id: 1 * GIB})
    known.record_memory_use(CASE, {TORCH.id: 2 * GIB})
    assert known.need(CASE, TORCH) == int(3 * GIB * 1.1) != guessed
    same: ScenarioName = "throughput-device"
    assert known.need(msgspec.structs.replace(CASE, scenario=same), TORCH) == int(3 * GIB * 1.1)
    assert known.need(msgspec.structs.replace(CASE, batch=8), TORCH) == estimate(
        msgspec.structs.replace(CASE, batch=8), "torch"
    )


def test_too_little_memory_divides_and_says_so() -> None:
    found, (warning,) = sharing(3 * GIB).divide(CASE, (TORCH, JAX, ORT), seed=1)
    assert len(found) == 2
    assert (warning.code, warning.about) == ("gpu-memory-divided", CASE.id)
    assert "in 2 groups (torch@cu13, onnxruntime@cu13; jax@cu13)" in warning.message
    assert "3.0 GiB is free" in warning.message
    assert "nvidia-smi" in warning.remedy


def test_who_ran_out_is_alone_the_next_time() -> None:
    known = sharing(80 * GIB)
    known.record_out_of_memory(CASE.id, JAX.id)
    found, (warning,) = known.divide(CASE, (TORCH, JAX, ORT), seed=1)
    assert sorted(map(len, found)) == [1, 2]
    assert "jax@cu13 ran out of the GPU's memory beside others" in warning.message
    other = msgspec.structs.replace(CASE, batch=8)
    assert len(known.divide(other, (TORCH, JAX, ORT), seed=1)[0]) == 1


def test_a_gpu_that_lets_one_process_in() -> None:
    found, (warning,) = sharing(80 * GIB, one_process=True).divide(CASE, (ORT, TWIN, JAX), seed=1)
    assert sorted(names(found)) == [["jax@cu13"], ["onnxruntime@cu13"], ["onnxruntime@cu13#2"]]
    assert warning.code == "gpu-one-process"
    assert "-c DEFAULT" in warning.remedy


def test_a_fingerprint_says_whether_one_process_is_let_in() -> None:
    def on(mode: int, gpu: int) -> Run:
        run = make_run(models=("mlp",), scenarios=("latency",))
        facts = {"driver": "595.58.03", "devices": 2, "device 1 name": "NVIDIA H100", "device 1 compute mode": mode}
        settings = msgspec.structs.replace(run.settings, gpu=gpu)
        return msgspec.structs.replace(run, machine={**run.machine, "gpu": facts}, settings=settings)

    card = Card(80 * GIB)
    assert [len(sharing_of(on(mode, 1), card).divide(CASE, (TORCH, JAX), 1)[0]) for mode in (0, 1, 2, 3)] == [
        1, 2, 1, 2,
    ]  # fmt: skip
    assert len(sharing_of(on(3, 0), card).divide(CASE, (TORCH, JAX), 1)[0]) == 1


# ---- a run -----------------------------------------------------------------------------------------------------------


@pytest.mark.extended
def test_groups_take_their_turns_apart_in_one_generation(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real workers: each generation is measured in two groups of one arm, and the record holds both."""

    def apart(self: MemorySharing, case: Case, arms: tuple[Arm, ...], seed: int) -> object:
        del self, case, seed
        return [(arm,) for arm in arms], ()

    monkeypatch.setattr(MemorySharing, "divide", apart)
    run = canaries.Harness(canaries.plan("memory", "latency"), reports).measure()
    assert run.finished
    memory, latency = run.blocks
    assert {launch.arm for launch in memory.generations[0].launches} == {arm.id for arm in ARMS}
    for generation in latency.generations:
        assert generation.complete
        assert {launch.arm for launch in generation.launches} == {*(arm.id for arm in ARMS), "canary"}
        assert all(launch.failure is None for launch in generation.launches)
        indices = [each.index for each in generation.rounds]
        assert indices == list(range(len(indices)))
        groups_ = [{turn.arm for turn in each.turns} - {"canary"} for each in generation.rounds]
        assert all(len(group) == 1 for group in groups_)
        assert set().union(*groups_) == {arm.id for arm in ARMS}
        assert all("canary" in {turn.arm for turn in each.turns} for each in generation.rounds)
