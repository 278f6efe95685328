"""A run on an emulated machine with two NUMA nodes: where its workers run, and where their memory is."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from studies.reboots import machine, system

PROGRAMS = ("qemu-system-x86_64", "mmdebstrap", "mke2fs", "debugfs")
pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(bool(os.geteuid()), reason="the guest's file system has files of several owners"),
    pytest.mark.skipif(not all(map(shutil.which, PROGRAMS)), reason=f"this takes {', '.join(PROGRAMS)}"),
]

LIMIT_S = 900
MARK = "numa: "
GUEST = '''
import ctypes, glob, json, os, re, subprocess, time

os.environ |= {"HOME": "/root", "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
BENCH = ["bench", "--profile", "smoke", "--models", "mlp", "--backends", "onnxruntime", "--scenarios", "latency"]
BENCH += ["--control", "none", "--launcher", "host", "--variant", "cpu", "--reports", "/root/reports"]


def read(path):
    try:
        return open(path, errors="replace").read()
    except OSError:
        return ""


def workers():
    """CPUs of all threads, memory policies, and anonymous pages of each node, by process."""
    found = {}
    for folder in glob.glob("/proc/[0-9]*"):
        if "levelfield.worker" not in read(f"{folder}/cmdline"):
            continue
        maps = [line for line in read(f"{folder}/numa_maps").splitlines() if "file=" not in line]
        pages = {"0": 0, "1": 0}
        for node, count in re.findall(r" N([01])=([0-9]+)", "\\n".join(maps)):
            pages[node] += int(count)
        allowed = re.findall(r"Cpus_allowed_list:\\t(.*)", "".join(map(read, glob.glob(f"{folder}/task/*/status"))))
        if sum(pages.values()):
            policies = sorted({line.split()[1] for line in maps})
            found[folder] = {"cpus": sorted(set(allowed)), "policies": policies, "pages": pages}
    return found


def bench(*options):
    seen = {}
    with open("/root/out", "w") as out:
        process = subprocess.Popen(["levelfield", *BENCH, *options], stdout=out, stderr=out, cwd="/root")
        while process.poll() is None:
            seen |= workers()
            time.sleep(0.5)
    runs = sorted(glob.glob("/root/reports/*/report.html"), key=os.path.getmtime)
    record = {}
    if runs and process.returncode in (0, 1):
        export = ["levelfield", "export", runs[-1], "--record", "/root/record.json"]
        subprocess.run(export, check=True, stdout=subprocess.DEVNULL)
        record = json.loads(read("/root/record.json"))
    facts = record.get("machine", {})
    return {
        "code": process.returncode,
        "said": read("/root/out")[-1500:],
        "workers": list(seen.values()),
        "settings": {name: record.get("settings", {}).get(name) for name in ("cpus", "threads", "memory_nodes")},
        "cpu": {name: fact for name, fact in facts.get("cpu", {}).items() if name.endswith("measured on")},
        "memory": {name: fact for name, fact in facts.get("memory", {}).items() if name.startswith("NUMA")},
    }


try:
    found = {"default": bench(), "second": bench("--cpus", "2-3"), "three": bench("--threads", "3")}
    print("\\nMARK" + json.dumps(found), flush=True)
finally:
    os.sync()
    ctypes.CDLL(None).reboot(0x4321FEDC)
'''.replace("MARK", MARK)
"""First process of the guest; it switches the machine off (reboot(2), LINUX_REBOOT_CMD_POWER_OFF)."""


def boot(folder: Path) -> str:
    """Run the guest's program on a machine of two nodes with two CPUs and 1.5 GiB each; return its console."""
    image, console = folder / "disk.img", folder / "console"
    kernels = system.make(image, print)
    machine.put(image, GUEST, "/root/numa.py")
    release = system.release(system.OLD)
    command = ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-nodefaults"]
    command += ["-smp", "4", "-m", "3072M", "-display", "none", "-no-reboot", "-serial", f"file:{console}"]
    for node in range(2):
        command += ["-object", f"memory-backend-ram,id=m{node},size=1536M"]
        command += ["-numa", f"node,nodeid={node},cpus={2 * node}-{2 * node + 1},memdev=m{node}"]
    command += ["-drive", f"file={image},format=raw,if=virtio"]
    command += ["-kernel", str(kernels / f"vmlinuz-{release}"), "-initrd", str(kernels / f"initrd.img-{release}")]
    options = "root=/dev/vda rw console=ttyS0 quiet tsc=reliable clocksource=tsc init=/usr/bin/python3 -- /root/numa.py"
    subprocess.run([*command, "-append", options], check=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    return console.read_text(errors="replace")


def test_a_run_stays_within_one_node_with_its_memory(tmp_path: Path) -> None:
    console = boot(tmp_path)
    assert MARK in console, console[-3000:]
    found = json.loads(console.rpartition(MARK)[2].splitlines()[0])
    for name, node in (("default", 0), ("second", 1)):
        run = found[name]
        assert run["code"] == 0, run["said"]
        assert run["settings"] == {"cpus": [2 * node, 2 * node + 1], "threads": 2, "memory_nodes": [node]}
        assert run["cpu"]["NUMA nodes measured on"] == str(node)
        assert run["memory"]["NUMA layout"] == "node 0: CPUs 0-1, 1 GiB; node 1: CPUs 2-3, 1 GiB"
        assert len(run["workers"]) >= 2, "of the canary and of ONNX Runtime"
        for worker in run["workers"]:
            whole, one, other = f"{2 * node}-{2 * node + 1}", f"{2 * node}", f"{2 * node + 1}"
            assert {whole} <= set(worker["cpus"]) <= {whole, one, other}, "threads of probes are pinned to one CPU"
            assert set(worker["policies"]) - {"local"} == {f"bind:{node}"}, "OpenBLAS asks for local memory"
            here, there = worker["pages"][str(node)], worker["pages"][str(1 - node)]
            assert here > 9 * there, "shared pages alone may be elsewhere"
    assert found["three"]["code"] == 2
    said = " ".join(found["three"]["said"].split())
    assert "3 threads were asked for, and this process may use 2 CPUs in one NUMA node (node 0)." in said
