"""Whether the container engine can give a GPU to containers, by the runtimes and devices that it reports.

An engine gives a GPU in one of three ways: by CDI (Container Device Interface), by NVIDIA's runtime, or by the
toolkit's hook, which it looks for on its own path when it starts. The first two are in `docker info`; the hook is not,
so only a container that starts proves it: a run starts one before it fetches anything.

References
----------
Docker Engine API, SystemInfo: `Runtimes` and `DiscoveredDevices`. NVIDIA Container Toolkit, installation guide.
"""

from levelfield.compatibility.devices import Nvidia
from levelfield.machine.findings import Finding, ok, warn
from levelfield.machine.reading import Facts

TOPIC = "GPU in containers"
KIND = "nvidia.com/gpu"
"""How CDI calls NVIDIA's GPUs."""
RUNTIME = "nvidia"
INSTALL = (
    "Install nvidia-container-toolkit, run `nvidia-ctk runtime configure --runtime=docker` (as root) and restart the "
    "engine; or use --launcher venv"
)
"""What to do where the toolkit is missing; the caller ends the sentence."""


def findings(engine: Facts, here: Nvidia) -> list[Finding]:
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
