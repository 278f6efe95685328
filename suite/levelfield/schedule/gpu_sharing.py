"""Divide arms into groups that share one GPU at the same time, so that its memory is enough.

Arms take turns, so all of a block are alive at once, and no framework may take the whole GPU at its start
(preallocation is off). What they need together is estimated beforehand. Where it is more than NVML calls free, or where
the GPU lets one process in at a time, a block is measured in several groups, one after the other: the arms of one
group take turns with one another, and not with those of the next. A warning says so, since a machine that
drifts in the meantime drifts between them.

What an arm needs is what NVML reported that its process held for the same case earlier in this run, or else an
estimate. The estimate is rough and errs to the high side, where it costs interleaving and not a failure (on an H200:
1.9 GiB for torch with BERT, which held 1.1). An arm that ran out of memory beside others is given the GPU to itself the
next time.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from levelfield.backends import registry
from levelfield.compatibility.gate import from_facts
from levelfield.machine.device_use import Device
from levelfield.record import warnings as notices
from levelfield.record.schema import Absent, Arm, Case, OwnFile, Run, Warning_
from levelfield.zoo import models

MemoryGroup: TypeAlias = tuple[Arm, ...]

_ELEMENT_BYTES = 4
_WEIGHTS_AT_ONCE = 2
"""While a model is loaded its weights are there twice: as they came, and laid out for the kernels."""
_WEIGHTS_IN_TRAINING = 6
"""The weights, their gradients, the optimizer's two moments, and copies while a step is compiled."""
_ACTIVATIONS_IN_TRAINING = 3
"""All are kept for the way back, with what lies between them, and their gradients follow."""
_MARGIN = 1.1
"""On what was seen: NVML is asked between windows, when workspaces may have been given back."""
_KEPT_FREE_BYTES = 512 << 20


def estimate(case: Case, backend: str, own: OwnFile | None = None) -> int:
    """Return an estimate of what a worker holds of the GPU's memory, before any has been seen.

    Of a user's own file only its size is known: an item's activations are taken to be as much.
    """
    if own is not None:
        return registry.get(backend).process_bytes + (_WEIGHTS_AT_ONCE + case.batch) * own.size_bytes
    model = models.get(case.model)
    training = case.trains
    weights = (_WEIGHTS_IN_TRAINING if training else _WEIGHTS_AT_ONCE) * model.parameter_count
    passing = (_ACTIVATIONS_IN_TRAINING if training else 1) * (model.activations or model.parameter_count)
    return registry.get(backend).process_bytes + _ELEMENT_BYTES * (weights + passing * case.batch)


def memory_groups(
    arms: Sequence[Arm], needs: Mapping[str, int], room: int, apart: Iterable[str] = ()
) -> list[MemoryGroup]:
    """Divide arms into groups that fit (`needs`: bytes by arm id), first fit in the order given."""
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
    return [tuple(group) for group in found]


def _twins(arms: Sequence[Arm], needs: Mapping[str, int], room: int) -> list[MemoryGroup]:
    """Put arms that are the same thing twice together, unless two of them are too much."""
    same: dict[str, list[Arm]] = {}
    for arm in arms:
        same.setdefault(msgspec.structs.replace(arm, ordinal=1, inject="").id, []).append(arm)
    groups: list[MemoryGroup] = []
    for twins in same.values():
        if sum(needs[arm.id] for arm in twins) <= room:
            groups.append(tuple(twins))
        else:
            groups += [(arm,) for arm in twins]
    return groups


class MemorySharing:
    """The GPU's memory (no device: all arms are one group), and what each arm has been seen to take of it."""

    def __init__(self, device: Device | None, *, one_process: bool = False, own: OwnFile | None = None) -> None:
        self._device = device
        self._own = own
        self._one_process = one_process
        self._free: int | Absent = Absent("nobody asked yet")
        self._seen: dict[tuple[str, ...], int] = {}
        self._apart: set[tuple[str, str]] = set()

    def read_free_memory(self) -> None:
        """Read what is free; to be called while no worker of this run uses the GPU."""
        if self._device is not None:
            self._free = self._device.free_bytes()

    def divide(self, case: Case, arms: Sequence[Arm], seed: int) -> tuple[list[MemoryGroup], tuple[Warning_, ...]]:
        """Divide the arms of a generation into groups whose memory the GPU has for all of a group at once."""
        if self._device is None or case.device == "cpu" or not arms:
            return [tuple(arms)], ()
        apart = {arm.id for arm in arms if self._one_process or (case.id, arm.id) in self._apart}
        room: int | None
        if isinstance(self._free, Absent):
            room = None
            found = memory_groups(arms, {arm.id: 0 for arm in arms}, 0, apart)
        else:
            room = max(0, self._free - _KEPT_FREE_BYTES)
            found = memory_groups(arms, {arm.id: self.need(case, arm) for arm in arms}, room, apart)
        said = tuple(self._said(case, found, room))
        random.Random(f"{seed}/companies").shuffle(found)  # noqa: S311  (a schedule, not a secret)
        return found, said

    def need(self, case: Case, arm: Arm) -> int:
        """Return what an arm needs for a case: what was seen in this run plus a margin, or an estimate."""
        seen = self._seen.get(_key(case, arm.id))
        return int(seen * _MARGIN) if seen is not None else estimate(case, arm.backend, self._own)

    def record_memory_use(self, case: Case, held_bytes: Mapping[str, int]) -> None:
        for arm, held in held_bytes.items():
            key = _key(case, arm)
            self._seen[key] = max(held, self._seen.get(key, 0))

    def record_out_of_memory(self, case: str, arm: str) -> None:
        """Record that an arm's memory was not enough for a case: it gets the GPU to itself the next time."""
        self._apart.add((case, arm))

    def _said(self, case: Case, found: Sequence[MemoryGroup], room: int | None) -> Iterable[Warning_]:
        names = [tuple(arm.id for arm in group) for group in found]
        if len(found) > 1 and self._one_process:
            yield notices.gpu_one_process(case.id)
        elif len(found) > 1:
            together = sum(self.need(case, arm) for group in found for arm in group)
            out = sorted(arm for block, arm in self._apart if block == case.id)
            yield notices.gpu_memory_divided(case.id, names, together, self._free, out)
        for arm in (arm for group in found for arm in group):
            need = self.need(case, arm)
            if room is not None and need > room:
                yield notices.gpu_memory_short(f"{arm.id}/{case.id}", need, room)


def _key(case: Case, arm: str) -> tuple[str, ...]:
    """Two cases that differ in nothing that takes memory are one."""
    kind = "training" if case.trains else "inference"
    return (arm, case.model, case.precision, str(case.batch), kind)


def sharing_of(run: Run, device: Device | None) -> MemorySharing:
    """Return how a run shares its GPU, by its fingerprint; no device: none is used."""
    gpus = from_facts(run.machine.get("gpu", {})).gpus
    return MemorySharing(
        device, one_process=any(gpu.index == run.settings.gpu and gpu.one_process for gpu in gpus), own=run.settings.own
    )
