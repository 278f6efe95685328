"""The environment of a run: facts that may explain a change, and the hardware."""

import msgspec

from levelfield.analysis import environment
from levelfield.record.schema import Absent, Fingerprint
from tests.analysis.many import small_run

MACHINE: Fingerprint = {
    "cpu": {"model": "AMD EPYC", "vendor": "AuthenticAMD", "family": 25, "cores": 2, "microcode": "0x1000065"},
    "memory": {"total bytes": 25_276_514_304},
    "kernel": {"release": "6.18.44"},
    "virtualisation": {"hypervisor flag": True},
    "gpu": {"driver": Absent("no NVIDIA driver answers")},
}


def test_what_surrounds_a_run_is_all_there() -> None:
    run = small_run()
    found = environment.environment(run)
    assert found["kernel"]["release"] == run.machine["kernel"]["release"]
    assert found["image onnxruntime"]["lock"] == run.images[0].lock_sha256
    assert found["arm onnxruntime"]["version"] == "1.31.1"
    assert found["arm openvino"]["setting threads"] == "2"
    assert any(name.startswith("mlp inputs") for name in found["inputs"])
    assert found["tool"]["version"] == "0.1.0"


def test_no_name_of_a_host_or_a_person_leaves_the_record() -> None:
    run = small_run()
    named = msgspec.structs.replace(run, machine={**run.machine, "identity": {"host": "anna-laptop", "user": "anna"}})
    assert environment.environment(named) == environment.environment(run)
    assert environment.machine_key(named.machine) == environment.machine_key(run.machine)


def test_software_does_not_make_another_machine_and_hardware_does() -> None:
    machine = MACHINE
    key = environment.machine_key(machine)

    def changed(group: str, name: str, value: str | float) -> str:
        return environment.machine_key({**machine, group: {**machine.get(group, {}), name: value}})

    total = machine["memory"]["total bytes"]
    assert isinstance(total, int)
    assert changed("kernel", "release", "7.0") == key
    assert changed("cpu", "microcode", "0xa2") == key
    assert changed("gpu", "driver", "590.48.01") == key
    assert changed("memory", "total bytes", total - 3_000_000) == key
    assert changed("memory", "total bytes", 2 * total) != key
    assert changed("cpu", "model", "Another Processor") != key
    assert changed("gpu", "device 0 name", "NVIDIA H100") != key


def test_a_gpu_that_is_missing_is_told_from_a_fact_that_an_older_release_did_not_ask_for() -> None:
    facts = {"driver": "580.95.05", "device 0 name": "NVIDIA H100"}
    assert environment.recorded(facts, "gpu", "device 0 GSP") == environment.NOT_RECORDED
    assert environment.recorded(facts, "gpu", "kernel module") == environment.NOT_RECORDED
    assert environment.recorded(facts, "gpu", "device 1 name") == environment.NOT_THERE
    assert environment.recorded(None, "gpu", "driver") == environment.NOT_THERE


def test_a_machine_in_a_line() -> None:
    assert environment.machine_title(MACHINE) == "AMD EPYC (family 25), 2 cores, 24 GiB"
    gpus = {"device 0 name": "NVIDIA H100", "device 0 compute capability": "9.0"}
    assert (
        environment.machine_title({**MACHINE, "gpu": {**gpus}}) == "AMD EPYC (family 25), 2 cores, 24 GiB, NVIDIA H100"
    )
    assert environment.machine_title({}) == "not asked, not asked cores, not asked"


def test_only_what_can_explain_an_arm_concerns_it() -> None:
    def concerns(group: str) -> bool:
        return environment.concerns(group, arm="torch-compile", image="image torch")

    assert all(map(concerns, ("kernel", "tool", "inputs", "image torch", "arm torch-compile")))
    assert not any(map(concerns, ("image jax", "arm torch", "arm jax")))
