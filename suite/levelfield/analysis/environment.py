"""The environment of a record's numbers: facts that may explain a change, and the hardware."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import msgspec

from levelfield.analysis import collect, processor
from levelfield.errors import shortened
from levelfield.record.references import suffix
from levelfield.record.schema import Absent, Fact, Fingerprint, Image, Launch, Run, elsewhere, is_volatile

Environment: TypeAlias = dict[str, dict[str, str]]
"""Group (`cpu`, `kernel`, `image onnxruntime`, `arm onnxruntime`, …) to name to value, all texts."""

LONGEST = 1000
"""Characters that are kept of a value: a list of CPU flags has some hundreds."""


PRIVATE = frozenset({"identity"})
"""Groups of the fingerprint that name a host or a person: they stay in the record."""

_HARDWARE = (
    ("cpu", "model"),
    ("cpu", "vendor"),
    ("cpu", "family"),
    ("cpu", "model number"),
    ("cpu", "stepping"),
    ("cpu", "sockets"),
    ("cpu", "cores"),
    ("cpu", "L2 cache"),
    ("cpu", "L3 cache"),
    ("virtualisation", "hypervisor flag"),
)
"""Facts that stay the same when software, firmware and settings change."""

_GPU_HARDWARE = (" name", " compute capability", " memory bytes")
_GIB = 2**30


def environment(run: Run) -> Environment:
    """Return every fact of a record that may explain why its numbers are what they are."""
    found = _lasting(run.machine)
    found["tool"] = {"version": run.tool_version, "sources": run.tool_sha256}
    settings = run.settings
    found["settings"] = {
        "profile": settings.profile,
        "generations": str(settings.generations),
        "rounds": str(settings.rounds),
        "CPUs": ",".join(map(str, settings.cpus)),
        "timed region": settings.timed_region,
        **_memory_nodes(settings.memory_nodes),
    }
    found["inputs"] = dict(_inputs(run))
    for image in run.images:
        found[image_group(image.name, image.variant, elsewhere(image.launcher, settings.launcher))] = _image(image)
    for arm, launches in _launches(run).items():
        found[arm_group(arm)] = _arm(launches)
    return {
        group: {key: shortened(text, LONGEST) for key, text in facts.items()} for group, facts in found.items() if facts
    }


def _lasting(machine: Fingerprint) -> dict[str, dict[str, str]]:
    """Return the facts of a machine that are not other ones at every moment, without those that name somebody."""
    return {
        group: {name: text(fact) for name, fact in facts.items() if not is_volatile(group, name)}
        for group, facts in machine.items()
        if group not in PRIVATE
    }


def image_group(name: str, variant: str, launcher: str = "") -> str:
    """Return the name of the group that holds the facts of an image."""
    plain, _, version = variant.partition("@")
    return f"image {name}{suffix(plain, version or None)}{f'+launcher={launcher}' if launcher else ''}"


def arm_group(arm: str) -> str:
    """Return the name of the group that holds what an arm's launches reported."""
    return f"arm {arm}"


NOT_RECORDED = "not recorded"
NOT_THERE = "not there"
_LISTS = ("image ", "arm ", "inputs")
"""Groups that list what there is, such as distributions and settings. What they lack was not there."""
_DEVICE = re.compile(r"device \d+")


def recorded(facts: Mapping[str, str] | None, group: str, name: str) -> str:
    """Return a fact of a group, or words for its absence."""
    value = None if facts is None else facts.get(name)
    if value:
        return value
    return NOT_THERE if value is None and _lists(facts, group, name) else NOT_RECORDED


def _lists(facts: Mapping[str, str] | None, group: str, name: str) -> bool:
    """Return whether a group that lacks a fact says so that there was no such thing."""
    if group != "gpu":
        return group.startswith(_LISTS)
    device = _DEVICE.match(name)
    # A device of which other facts are there was there.
    return facts is None or (device is not None and not any(one.startswith(device[0] + " ") for one in facts))


def concerns(group: str, *, arm: str, image: str) -> bool:
    """Return whether a group of facts can explain a result of this arm."""
    return not group.startswith(("image ", "arm ")) or group in (image, arm_group(arm))


def hardware(machine: Fingerprint) -> dict[str, str]:
    """Return what the machine is made of, and what its processor's instruction set offers, whatever runs on it."""
    found = _hardware(machine)
    offered = processor.instructions(machine)
    return found | ({"cpu instruction set": offered} if offered else {})


def _hardware(machine: Fingerprint) -> dict[str, str]:
    found = {f"{group} {name}": text(machine.get(group, {}).get(name)) for group, name in _HARDWARE}
    total = machine.get("memory", {}).get("total bytes")
    # A kernel keeps a little of the memory for itself, each release a little more or less.
    found["memory"] = f"{round(total / _GIB)} GiB" if isinstance(total, int) else text(total)
    for name, fact in machine.get("gpu", {}).items():
        if name.startswith("device ") and name.endswith(_GPU_HARDWARE):
            found[f"gpu {name}"] = text(fact)
    return found


def machine_key(machine: Fingerprint) -> str:
    """Return a short digest of the hardware: runs with different ones are never one series."""
    return hashlib.sha256(msgspec.json.encode(sorted(_hardware(machine).items()))).hexdigest()[:12]


def machine_title(machine: Fingerprint) -> str:
    """`AMD EPYC (family 26, model 2, stepping 1; AVX-512 (bf16, VNNI)), 2 cores, 24 GiB`: the hardware in a line."""
    known = _hardware(machine)
    cores = known["cpu cores"]
    gpus = [value for name, value in known.items() if name.startswith("gpu ") and name.endswith(" name")]
    parts = (
        processor.title(machine) or known["cpu model"],
        f"{cores} {'core' if cores == '1' else 'cores'}",
        known["memory"],
        *gpus,
    )
    return shortened(", ".join(parts), 200)


UNKNOWN = "not known: "


def text(fact: Fact | None) -> str:
    """Write a fact as a text."""
    match fact:
        case None:
            return "not asked"
        case Absent(reason=reason):
            return f"{UNKNOWN}{reason}"
        case bool():
            return "yes" if fact else "no"
        case _:
            return str(fact)


def _memory_nodes(nodes: tuple[int, ...] | Absent | None) -> dict[str, str]:
    """Return the NUMA nodes that memory was bound to; nothing where a record does not say."""
    if nodes is None:
        return {}
    return {"memory nodes": text(nodes) if isinstance(nodes, Absent) else ",".join(map(str, nodes))}


def _inputs(run: Run) -> Iterator[tuple[str, str]]:
    for artifact in run.artifacts:
        yield artifact.name, artifact.sha256
    for block in run.blocks:
        digests = {launch.inputs_sha256 for _, launch in collect.launches(block) if launch.inputs_sha256}
        if digests:
            yield f"{block.case.model} inputs, batch {block.case.batch}", " ".join(sorted(digests))


def _image(image: Image) -> dict[str, str]:
    return {
        "base": image.base,
        "Python": image.python,
        "lock": image.lock_sha256,
        "recipe": image.recipe_sha256,
        "worker code": image.worker_sha256,
        "launcher": image.launcher,
        **({"not what a lock says": image.unlocked} if image.unlocked else {}),
        **image.distributions,
    }


def _launches(run: Run) -> dict[str, list[Launch]]:
    found: dict[str, list[Launch]] = {arm.id: [] for block in run.blocks for arm in block.arms}
    for block in run.blocks:
        for _, launch in collect.launches(block):
            if launch.arm in found:
                found[launch.arm].append(launch)
    return found


def _arm(launches: list[Launch]) -> dict[str, str]:
    """Collect what launches reported; where launches of different models differ, all their values are listed."""
    seen: dict[str, set[str]] = {}
    for launch in launches:
        facts = {"version": launch.framework_version} if launch.framework_version else {}
        facts |= {f"setting {name}": value for name, value in launch.settings.items()}
        facts |= {f"variable {name}": value for name, value in launch.environment.items()}
        if in_words := processor.kernels_in_words(launch, counted=False):
            facts[processor.PRODUCTS] = in_words
        for name, value in facts.items():
            seen.setdefault(name, set()).add(value)
        for library in launch.libraries:
            seen.setdefault(f"loaded {library.kind}", set()).add(f"{library.name} ({library.path})")
    return {name: " | ".join(sorted(values)) for name, values in seen.items()}
