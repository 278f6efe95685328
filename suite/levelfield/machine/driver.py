"""Findings of `levelfield doctor` on the NVIDIA driver and its GPUs."""

import msgspec

from levelfield.compatibility.devices import Gpu, Nvidia, from_facts
from levelfield.machine.devices import only_visible
from levelfield.machine.findings import Finding, ok, warn
from levelfield.machine.gpu import gpu, problem

TOPIC = "NVIDIA driver"


def nvidia() -> Nvidia:
    """Return this machine's driver and GPUs, for the choice of a variant."""
    found = only_visible(from_facts(gpu()))
    if found.driver is not None:
        return found
    why = problem()
    return msgspec.structs.replace(found, fix=why.fix if why is not None else "Install a current driver.")


def findings() -> list[Finding]:
    """Check the driver and each GPU; a machine without a driver runs everything on its CPU."""
    found = nvidia()
    if found.driver is None:
        message = f"None to be used: {found.problem.rstrip('.')}. Everything runs on the CPU."
        return [warn(TOPIC, message, found.fix) if found.fix else ok(TOPIC, message)]
    cuda = f", made for CUDA up to {found.cuda}" if found.cuda else ""
    if found.hidden and not found.gpus:
        message = f"{found.driver}{cuda}; CUDA_VISIBLE_DEVICES hides every GPU of this machine."
        return [warn(TOPIC, message, "Unset it, or name the GPU that you may use.")]
    if not found.gpus:
        fix = "See what `nvidia-smi -L` lists, and whether this process may use it."
        return [warn(TOPIC, f"{found.driver}{cuda}; it shows no GPU.", fix)]
    titles = ", ".join(one.title for one in found.gpus)
    others = f" CUDA_VISIBLE_DEVICES hides {', '.join(map(str, found.hidden))}." if found.hidden else ""
    listed = [ok(TOPIC, f"{found.driver}{cuda}: {titles}.{others}")]
    kinds = {(one.name, one.capability) for one in found.gpus}
    if len(kinds) > 1:
        message = f"They are of {len(kinds)} kinds: a measurement takes one of them, and says which."
        listed.append(warn("GPUs", message, f"Choose it with --gpu: {found.gpus[0].index} is {found.gpus[0].name}."))
    return [*listed, *(finding for one in found.gpus for finding in _of_one(one))]


def _of_one(one: Gpu) -> list[Finding]:
    """Return what prevents several workers from taking turns on the whole of a GPU."""
    topic, listed = f"GPU {one.index}", list[Finding]()
    if one.mig:
        message = (
            f"{one.title} is cut into slices (MIG is on): only a slice can be used, and NVML counts for the whole."
        )
        fix = f"Turn MIG off for the time of the run: nvidia-smi -i {one.index} -mig 0 (as root)."
        listed.append(warn(topic, message, fix))
    if one.prohibited or one.one_process:
        what = "no process compute" if one.prohibited else "one process in at a time, so that backends take no turns"
        fix = f"Let several in: nvidia-smi -i {one.index} -c DEFAULT (as root)."
        listed.append(warn(topic, f"{one.title} lets {what} (compute mode).", fix))
    if one.persistent is False:
        message = (
            f"The driver lets {one.title} go whenever nobody uses it (persistence mode is off): the first process to "
            "come, such as a cold start, waits until it is ready again."
        )
        listed.append(warn(topic, message, f"Keep it ready: nvidia-smi -i {one.index} -pm 1 (as root)."))
    return listed
