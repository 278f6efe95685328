"""CUDA and cuDNN as they are installed on the host: images bring their own, and the record of an image names them.

Whether the container engine can give a GPU to containers, by the runtimes and devices that it reports.

An engine gives a GPU in one of three ways: by CDI (Container Device Interface), by NVIDIA's runtime, or by the
toolkit's hook, which it looks for on its own path when it starts. The first two are in `docker info`; the hook is not,
so only a container that starts proves it: a run starts one before it fetches anything.

References
----------
Docker Engine API, SystemInfo: `Runtimes` and `DiscoveredDevices`. NVIDIA Container Toolkit, installation guide.
"""

import re
from pathlib import Path

import msgspec

from levelfield.compatibility.gate import Gpu, Nvidia, from_facts
from levelfield.machine.findings import Finding, ok, warn
from levelfield.machine.gpu import gpu, only_visible, problem
from levelfield.machine.reading import ROOT, Facts, text
from levelfield.record.schema import Absent

_TOOLKIT = Path("usr/local/cuda")
_LIBRARIES = ("usr/lib/*-linux-gnu", "usr/lib64", "usr/lib", "usr/local/cuda/lib64", "usr/local/cuda/targets/*/lib")
_VERSIONED = re.compile(r"libcudnn\.so\.(\d+(?:\.\d+){2,3})")
"""`libcudnn.so.9` is a link to the file that is named after the whole version."""


class _Part(msgspec.Struct):
    version: str


class _Toolkit(msgspec.Struct):
    """The part of `version.json` that is read; toolkits have it since CUDA 11.1."""

    cuda: _Part


def host_libraries(root: Path = ROOT) -> Facts:
    """Return the versions of the CUDA toolkit and of cuDNN on the host; absent where the usual folders have none."""
    return {"CUDA toolkit": _toolkit(root), "cuDNN": _cudnn(root)}


def _toolkit(root: Path) -> str | Absent:
    told = text(root / _TOOLKIT / "version.json")
    if isinstance(told, Absent):
        return Absent(f"no toolkit is in /{_TOOLKIT}: {told.reason}")
    try:
        return msgspec.json.decode(told, type=_Toolkit).cuda.version
    except msgspec.MsgspecError as error:
        return Absent(f"/{_TOOLKIT}/version.json cannot be read: {error}")


def _cudnn(root: Path) -> str | Absent:
    names = {file.name for folder in _LIBRARIES for file in root.glob(f"{folder}/libcudnn.so.*")}
    found = sorted(match[1] for name in names if (match := _VERSIONED.fullmatch(name)))
    return ", ".join(found) or Absent("no libcudnn is in the folders of the system's libraries")


TOPIC = "GPU in containers"
KIND = "nvidia.com/gpu"
"""How CDI calls NVIDIA's GPUs."""
RUNTIME = "nvidia"
INSTALL = (
    "Install nvidia-container-toolkit, run `nvidia-ctk runtime configure --runtime=docker` (as root) and restart the "
    "engine; or use --launcher venv"
)
"""What to do where the toolkit is missing; the caller ends the sentence."""


def toolkit_findings(engine: Facts, here: Nvidia) -> list[Finding]:
    """Judge what the engine reports; nothing where there is no engine, no driver or no GPU.

    `engine`: as `machine.engine.described` returns it; empty where none answers.
    """
    if not engine or here.driver is None or not here.gpus:
        return []
    if KIND in _words(engine, "CDI devices"):
        return [ok(TOPIC, f"The engine lists this machine's GPUs as CDI devices ({KIND}).")]
    if RUNTIME in _words(engine, "runtimes"):
        return [ok(TOPIC, "NVIDIA's runtime is among the engine's.")]
    message = (
        "There is a GPU, and the engine lists neither NVIDIA's runtime nor a CDI device of NVIDIA's: the container "
        "toolkit is most likely missing, and then no container gets the GPU."
    )
    return [warn(TOPIC, message, f"{INSTALL}.")]


def _words(engine: Facts, name: str) -> list[str]:
    value = engine.get(name)
    return value.split() if isinstance(value, str) else []


DRIVER_TOPIC = "NVIDIA driver"


def nvidia() -> Nvidia:
    """Return this machine's driver and GPUs, for the choice of a variant."""
    found = only_visible(from_facts(gpu()))
    if found.driver is not None:
        return found
    why = problem()
    return msgspec.structs.replace(found, fix=why.fix if why is not None else "Install a current driver.")


def driver_findings() -> list[Finding]:
    """Check the driver and each GPU; a machine without a driver runs everything on its CPU."""
    found = nvidia()
    if found.driver is None:
        message = f"None to be used: {found.problem.rstrip('.')}. Everything runs on the CPU."
        return [warn(DRIVER_TOPIC, message, found.fix) if found.fix else ok(DRIVER_TOPIC, message)]
    cuda = f", made for CUDA up to {found.cuda}" if found.cuda else ""
    if found.hidden and not found.gpus:
        message = f"{found.driver}{cuda}; CUDA_VISIBLE_DEVICES hides every GPU of this machine."
        return [warn(DRIVER_TOPIC, message, "Unset it, or name the GPU that you may use.")]
    if not found.gpus:
        fix = "See what `nvidia-smi -L` lists, and whether this process may use it."
        return [warn(DRIVER_TOPIC, f"{found.driver}{cuda}; it shows no GPU.", fix)]
    titles = ", ".join(one.title for one in found.gpus)
    others = f" CUDA_VISIBLE_DEVICES hides {', '.join(map(str, found.hidden))}." if found.hidden else ""
    listed = [ok(DRIVER_TOPIC, f"{found.driver}{cuda}: {titles}.{others}")]
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
