"""Which arms live on one GPU together, so that its memory is enough for all of them.

Arms take turns, so all of a block are alive at once, and no framework may take the whole GPU at its start
(preallocation is off). What they need together is looked at beforehand. Where it is more than NVML calls free, or where
the GPU lets one process in at a time, a block is measured in several companies, one after the other: the arms of one
company take turns with one another, and not with those of the next. That is said, since a machine that drifts in the
meantime drifts between them.

What an arm needs is what NVML saw its process hold for the same case earlier in this run, or else an estimate. The
estimate is rough and unverified on a GPU; it errs to the high side, where it costs interleaving and not a failure. An
arm that ran out of memory in company is given the GPU to itself the next time.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from suite import warnings
from suite.compatibility.devices import from_facts
from suite.machine.device_use import Device
from suite.records.schema import Absent, Arm, Case, OwnFile, Run, Warning_
from suite.zoo import models

Company: TypeAlias = tuple[Arm, ...]

_MIB = 1 << 20
_PROCESS_BYTES = {
    "torch": 1024 * _MIB,
    "torch-compile": 1280 * _MIB,
    "tensorflow": 1536 * _MIB,
    "tensorflow-xla": 1536 * _MIB,
    "jax": 1280 * _MIB,
    "onnxruntime": 1024 * _MIB,
    "onnxruntime-tensorrt-rtx": 1024 * _MIB,
    "tensorrt": 1024 * _MIB,
}
"""What a process holds before it has a model, by backend: CUDA's context (about 0.3 to 0.6 GB on data-centre GPUs), the
code of its libraries, and room for the workspaces that cuDNN and cuBLAS ask for. Allowances, not measurements."""
_OTHERS_BYTES = 1536 * _MIB
_ACTIVATIONS = {"mlp": 448, "resnet50": 11_200_000, "bert": 24_000_000}
"""Elements of all layers' outputs for one item: ResNet-50's convolutions (11.1 million at 224 × 224); BERT-base's
twelve layers of 128 tokens, attention among them. Inference lets most go on the way; workspaces take about as much."""
_ELEMENT_BYTES = 4
_WEIGHTS_AT_ONCE = 2
"""While a model is loaded its weights are there twice: as they came, and laid out for the kernels."""
_WEIGHTS_IN_TRAINING = 6
"""The weights, their gradients, the optimizer's two moments, and copies while a step is compiled."""
_ACTIVATIONS_IN_TRAINING = 3
"""All are kept for the way back, with what lies between them, and their gradients follow."""
_MARGIN = 1.1
"""On what was seen: NVML is asked between windows, when workspaces may have been given back."""
_KEPT_FREE_BYTES = 512 * _MIB


def estimate(case: Case, backend: str, own: OwnFile | None = None) -> int:
    """Return what a worker may hold of the GPU's memory, in bytes, before anybody has seen it.

    Of a user's own file only its size is known: an item's activations are taken to be as much.
    """
    if own is not None:
        return _PROCESS_BYTES.get(backend, _OTHERS_BYTES) + (_WEIGHTS_AT_ONCE + case.batch) * own.size_bytes
    model = models.get(case.model)
    training = case.scenario.startswith("training")
    weights = (_WEIGHTS_IN_TRAINING if training else _WEIGHTS_AT_ONCE) * model.parameter_count
    passing = (_ACTIVATIONS_IN_TRAINING if training else 1) * _ACTIVATIONS.get(case.model, model.parameter_count)
    return _PROCESS_BYTES.get(backend, _OTHERS_BYTES) + _ELEMENT_BYTES * (weights + passing * case.batch)


def companies(arms: Sequence[Arm], needs: Mapping[str, int], room: int, apart: Iterable[str] = ()) -> list[Company]:
    """Divide arms into companies that fit, each as large as it can be.

    Parameters
    ----------
    arms
        In the order of the plan; a control stays with the arm that it repeats where both fit.
    needs
        Arm id to bytes.
    room
        Bytes that may be held together. An arm that needs more stands alone: an estimate is no proof.
    apart
        Ids of arms that get the GPU to themselves.

    Returns
    -------
    list
        Every arm once; first fit, in the order given.
    """
    found: list[list[Arm]] = []
    left: list[int] = []
    alone = frozenset(apart)
    for together in _twins(arms, needs, room):
        need = sum(needs[arm.id] for arm in together)
        if any(arm.id in alone for arm in together):
            found += [[arm] for arm in together]
            left += [0] * len(together)
            continue
        place = next((index for index, space in enumerate(left) if need <= space), None)
        if place is None:
            found.append(list(together))
            left.append(room - need)
        else:
            found[place] += together
            left[place] -= need
    return [tuple(company) for company in found]


def _twins(arms: Sequence[Arm], needs: Mapping[str, int], room: int) -> list[Company]:
    """Put arms that are the same thing twice together, unless two of them are too much."""
    same: dict[str, list[Arm]] = {}
    for arm in arms:
        same.setdefault(msgspec.structs.replace(arm, ordinal=1, inject="").id, []).append(arm)
    groups: list[Company] = []
    for twins in same.values():
        if sum(needs[arm.id] for arm in twins) <= room:
            groups.append(tuple(twins))
        else:
            groups += [(arm,) for arm in twins]
    return groups


class Sharing:
    """What is known, in the course of a run, of the GPU's memory and of what each arm takes of it.

    Parameters
    ----------
    device
        The GPU; None: none is used, and everybody is one company.
    one_process
        The GPU lets one process in at a time.
    own
        The user's own file, where one is measured.
    """

    def __init__(self, device: Device | None, *, one_process: bool = False, own: OwnFile | None = None) -> None:
        self._device = device
        self._own = own
        self._one_process = one_process
        self._free: int | Absent = Absent("nobody asked yet")
        self._seen: dict[tuple[str, ...], int] = {}
        self._apart: set[tuple[str, str]] = set()

    def look(self) -> None:
        """Ask what is free; to be called while no worker of this run lives on the GPU."""
        if self._device is not None:
            self._free = self._device.free_bytes()

    def divide(self, case: Case, arms: Sequence[Arm], seed: int) -> tuple[list[Company], tuple[Warning_, ...]]:
        """Return the companies of a generation, in an order that the seed gives, and what must be said of them."""
        if self._device is None or case.device == "cpu" or not arms:
            return [tuple(arms)], ()
        apart = {arm.id for arm in arms if self._one_process or (case.id, arm.id) in self._apart}
        room: int | None
        if isinstance(self._free, Absent):
            room = None
            found = companies(arms, {arm.id: 0 for arm in arms}, 0, apart)
        else:
            room = max(0, self._free - _KEPT_FREE_BYTES)
            found = companies(arms, {arm.id: self.need(case, arm) for arm in arms}, room, apart)
        said = tuple(self._said(case, found, room))
        random.Random(f"{seed}/companies").shuffle(found)  # noqa: S311  (a schedule, not a secret)
        return found, said

    def need(self, case: Case, arm: Arm) -> int:
        """Return what an arm needs for a case, in bytes: what was seen, or an estimate."""
        seen = self._seen.get(_key(case, arm.id))
        return int(seen * _MARGIN) if seen is not None else estimate(case, arm.backend, self._own)

    def saw(self, case: Case, held_bytes: Mapping[str, int]) -> None:
        """Remember what arms held of the GPU's memory, by id."""
        for arm, held in held_bytes.items():
            key = _key(case, arm)
            self._seen[key] = max(held, self._seen.get(key, 0))

    def ran_out(self, case: str, arm: str) -> None:
        """Remember that an arm's memory was not enough for a case: it gets the GPU to itself the next time."""
        self._apart.add((case, arm))

    def _said(self, case: Case, found: Sequence[Company], room: int | None) -> Iterable[Warning_]:
        names = [tuple(arm.id for arm in company) for company in found]
        if len(found) > 1 and self._one_process:
            yield warnings.gpu_one_process(case.id)
        elif len(found) > 1:
            together = sum(self.need(case, arm) for company in found for arm in company)
            out = sorted(arm for block, arm in self._apart if block == case.id)
            yield warnings.gpu_memory_divided(case.id, names, together, self._free, out)
        for arm in (arm for company in found for arm in company):
            need = self.need(case, arm)
            if room is not None and need > room:
                yield warnings.gpu_memory_short(f"{arm.id}/{case.id}", need, room)


def _key(case: Case, arm: str) -> tuple[str, ...]:
    """Two cases that differ in nothing that takes memory are one."""
    kind = "training" if case.scenario.startswith("training") else "inference"
    return (arm, case.model, case.precision, str(case.batch), kind)


def sharing_of(run: Run, device: Device | None) -> Sharing:
    """Return how a run shares its GPU, by what the fingerprint says of it."""
    gpus = from_facts(run.machine.get("gpu", {})).gpus
    return Sharing(
        device, one_process=any(gpu.index == run.settings.gpu and gpu.one_process for gpu in gpus), own=run.settings.own
    )
