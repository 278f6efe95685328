"""What a difference of each fact of a fingerprint means between the two sides of an upgrade.

A fact is of one of four kinds:

- `stack`: a version, or what versions decide. An upgrade is about such facts: they are shown, never held against it.
- `setting`: what an administrator sets, and a restart may lose. It is never intended to differ.
- `default`: what software sets unless somebody sets it otherwise. It counts as `stack` where that software (the
  *provider*) differs between the sides, and as `setting` where it does not.
- `ignored`: what says nothing that another fact does not say, or what differs by nature.

The same holds for a setting that only one side knows: it comes or goes with its provider, where that differs. A fact
that no rule names is a setting: what is not understood is not called harmless.
"""

from fnmatch import fnmatchcase
from typing import Literal

import msgspec

Kind = Literal["stack", "setting", "default", "ignored"]
KERNEL = ("kernel, release", "kernel, version")
FIRMWARE = ("virtualisation, firmware", "virtualisation, firmware date")
DRIVER = ("gpu, driver", "gpu, kernel module")
ENGINE = ("engine, engine", "engine, version")


class Rule(msgspec.Struct, frozen=True):
    """One row of the table."""

    pattern: str
    """Of `group, name`, as a shell's glob."""
    kind: Kind
    reason: str
    """Why the fact is of this kind, and for a setting: where it is kept. A sentence for readers."""
    identifies: bool = False
    """Two boots of one stack have the same value, and two stacks may have two."""
    providers: tuple[str, ...] = KERNEL


_SYSCTL = "A kernel parameter: a restart loses it unless a file in /etc/sysctl.d sets it."
_SYSFS = "A restart loses it unless a service or tmpfiles.d sets it."
_HARDWARE = "Part of the hardware: see whether this is the same machine, and whether all of it works."
_GPU = "A restart, or a load of the driver, loses it unless a service sets it."
_MODULE = "A parameter of the driver's module (NVreg_EnableGpuFirmware)."
_KEPT = "The device keeps it; a change takes effect at the next restart."
_RESET = "A change takes effect when the GPU is reset (nvidia-smi -r)."
_LINK = "The link came up otherwise: look at the slot, the riser and the firmware's set-up, then restart."
_PROCESS = "A limit of the process: run every boot in the same way (the same unit, or by hand)."
_VERSION = "A version of the software."
_CONFIGURED = "Set in the engine's configuration, or by its default."

RULES = (
    # The driver and the GPUs.
    Rule("gpu, driver", "stack", _VERSION, identifies=True),
    Rule("gpu, CUDA supported", "stack", "The driver decides it.", identifies=True),
    Rule("gpu, kernel module", "stack", "One of NVIDIA's two modules, installed with the driver.", identifies=True),
    Rule("gpu, devices", "setting", _HARDWARE),
    Rule("gpu, device * GSP firmware", "stack", "The driver brings it.", identifies=True),
    Rule("gpu, device * firmware", "stack", _VERSION, identifies=True),
    Rule("gpu, device * InfoROM", "stack", _VERSION, identifies=True),
    Rule("gpu, device * GSP", "default", _MODULE, providers=DRIVER),
    Rule("gpu, device * name", "setting", _HARDWARE),
    Rule("gpu, device * compute capability", "setting", _HARDWARE),
    Rule("gpu, device * memory bytes", "default", "The driver keeps a part of it; so does ECC.", providers=DRIVER),
    Rule("gpu, device * default *", "default", "The driver and the device's firmware decide it.", providers=DRIVER),
    Rule("gpu, device * maximum *", "default", "The driver and the device's firmware decide it.", providers=DRIVER),
    Rule("gpu, device * application * clock MHz", "setting", _GPU, providers=DRIVER),
    Rule("gpu, device * locked clocks", "setting", _GPU, providers=DRIVER),
    Rule("gpu, device * power limit*", "setting", _GPU, providers=DRIVER),
    Rule("gpu, device * persistence mode", "setting", _GPU, providers=DRIVER),
    Rule("gpu, device * compute mode", "setting", _GPU, providers=DRIVER),
    Rule("gpu, device * ECC*", "setting", _KEPT, providers=DRIVER),
    Rule("gpu, device * MIG*", "setting", _RESET, providers=DRIVER),
    Rule("gpu, device * PCIe *", "setting", _LINK, providers=DRIVER),
    # The kernel.
    Rule("kernel, release", "stack", _VERSION, identifies=True),
    Rule("kernel, version", "stack", "The build of the kernel.", identifies=True),
    Rule("kernel, system", "stack", _VERSION, identifies=True),
    Rule("kernel, architecture", "stack", _VERSION, identifies=True),
    Rule("kernel, timer Hz", "stack", "Compiled into the kernel (CONFIG_HZ)."),
    Rule("kernel, timer step ns", "ignored", "It is measured anew each time."),
    Rule("kernel, pressure information", "default", "Compiled in, or the kernel's parameter psi=."),
    Rule("kernel, security modules", "default", "Compiled in, or the kernel's parameter lsm=."),
    Rule("kernel, boot parameter*", "setting", "Set in the boot loader's configuration."),
    Rule("kernel, sched_*", "default", "The kernel's scheduler has its own defaults in each release."),
    Rule("kernel, scheduler extension", "setting", "A program loads the scheduler (sched_ext), and must be started."),
    Rule("kernel, clock source", "setting", f"The kernel left the other one, or was told to. {_SYSFS}"),
    Rule("kernel, address randomisation", "setting", _SYSCTL),
    Rule("kernel, watchdog", "setting", _SYSCTL),
    Rule("kernel, perf_event_paranoid", "setting", _SYSCTL),
    Rule("mitigations, *", "stack", "The kernel, the microcode and the command line decide it."),
    # The processor and its clock.
    Rule("cpu, microcode", "stack", _VERSION, identifies=True),
    Rule("cpu, *flags*", "stack", "What the kernel shows of the processor, by its release, microcode and mitigations."),
    Rule("cpu, SMT active", "ignored", "`SMT` and `threads` say it."),
    Rule("cpu, SMT", "setting", f"Or the kernel's parameter nosmt, or the firmware's set-up. {_SYSFS}"),
    Rule("cpu, threads", "setting", "CPUs were switched on or off, by hand, by SMT or by a kernel's parameter."),
    Rule("cpu, isolated CPUs", "setting", "Set by the kernel's parameter isolcpus=, or by a control group."),
    Rule("cpu, tickless CPUs", "setting", "Set by the kernel's parameter nohz_full=."),
    Rule("cpu, CPUs *", "setting", _PROCESS),
    Rule("cpu, * measured on", "setting", _PROCESS),
    Rule("cpu, *", "setting", _HARDWARE),
    Rule("clock, driver*", "default", "The kernel chooses it for the processor.", providers=(*KERNEL, *FIRMWARE)),
    Rule("clock, idle driver", "default", "The kernel chooses it for the processor.", providers=(*KERNEL, *FIRMWARE)),
    Rule("clock, hardware *", "default", "The firmware and the driver decide it.", providers=(*KERNEL, *FIRMWARE)),
    Rule("clock, *", "setting", _SYSFS, providers=(*KERNEL, *FIRMWARE)),
    # Memory.
    Rule("memory, total bytes", "setting", _HARDWARE),
    Rule("memory, swap bytes", "setting", "Swap is switched on from /etc/fstab or by a unit."),
    Rule("memory, huge page bytes", "default", "The kernel's parameter default_hugepagesz=, or its default."),
    Rule("memory, NUMA nodes", "setting", "Set in the firmware's set-up (nodes per socket), or by numa=off."),
    Rule("memory, NUMA layout", "setting", "Set in the firmware's set-up (nodes per socket), or by numa=off."),
    Rule("memory, NUMA distances", "setting", "Set in the firmware's set-up."),
    Rule("memory, transparent huge pages*", "setting", f"Or the kernel's parameter transparent_hugepage=. {_SYSFS}"),
    Rule("memory, huge pages of *", "setting", f"Or the kernel's parameters hugepagesz= and hugepages=. {_SYSFS}"),
    Rule("memory, same-page merging", "setting", _SYSFS),
    Rule("memory, *", "setting", _SYSCTL),
    Rule("nvidia-smi, *", "default", "The driver decides it, unless somebody sets it.", providers=DRIVER),
    # What runs on the machine.
    Rule("virtualisation, firmware*", "stack", _VERSION, identifies=True),
    Rule("virtualisation, container", "setting", _PROCESS),
    Rule("virtualisation, detected", "setting", _PROCESS),
    Rule("virtualisation, *", "setting", _HARDWARE),
    Rule("system, *", "stack", _VERSION, identifies=True),
    Rule("limits, cgroup version", "default", "The kernel's parameters and systemd decide it."),
    Rule("limits, *", "setting", _PROCESS),
    Rule("engine, cgroup version", "ignored", "The group `limits` says it."),
    Rule("engine, engine", "stack", _VERSION, identifies=True),
    Rule("engine, *version", "stack", _VERSION, identifies=True),
    Rule("engine, containerd", "stack", _VERSION, identifies=True),
    Rule("engine, runc", "stack", _VERSION, identifies=True),
    Rule("engine, operating system", "ignored", "The group `system` says it."),
    Rule("engine, kernel", "ignored", "The group `kernel` says it."),
    Rule("engine, CPUs", "ignored", "The group `cpu` says it."),
    Rule("engine, memory bytes", "ignored", "The group `memory` says it."),
    Rule("engine, *", "default", _CONFIGURED, providers=ENGINE),
    Rule("signals, *", "ignored", "How the machine is watched follows from the kernel and does not change its speed."),
    Rule("identity, *", "ignored", "It names a host or a person."),
    Rule("*", "setting", "This release does not know the fact."),
)
"""The first row whose pattern fits holds."""


def rule(key: str) -> Rule:
    """Return the rule of a fact."""
    return next(one for one in RULES if fnmatchcase(key, one.pattern))
