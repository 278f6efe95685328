import ast
import inspect
from collections.abc import Callable

import msgspec
import pytest

from levelfield.record import notices
from levelfield.record.schema import Absent, Arm, Computed, Fingerprint, Launch, Warning_
from tests.commands import ROOT

ALL: list[Callable[[], Warning_]] = [
    lambda: notices.fell_back_to_venv("No container engine answers."),
    lambda: notices.unlocked("torch", "the current interpreter was asked for"),
    lambda: notices.cpu_quota(1.5, 2),
    notices.one_cpu,
    lambda: notices.cuda_build("torch@2.14.1-cuda"),
    lambda: notices.throttled_by_quota(7, 1.5),
    lambda: notices.machine_changed(["cpu, microcode: 1 became 2"]),
    lambda: notices.journal_damaged([3, 7]),
    lambda: notices.governor_not_performance("powersave"),
    notices.huge_pages_always,
    lambda: notices.addresses_not_randomised(0),
    lambda: notices.memory_not_bound("the kernel refuses the system call set_mempolicy"),
    notices.smoke,
    lambda: notices.emulated_processor("aarch64 on x86_64"),
    lambda: notices.injected(["torch#2"]),
    lambda: notices.too_few_launches(2, 5, ["mlp/latency"]),
    lambda: notices.budget_spent(600, 3),
    lambda: notices.precision_not_reached("mlp/latency", 0.02, 0.01),
    lambda: notices.not_decided("mlp/latency", "1.01 (0.98–1.04)"),
    lambda: notices.not_equal("torch/mlp", 3e-3, 1e-5),
    lambda: notices.not_as_claimed("torch/mlp/bf16", "It was asked for bf16 and computed in fp32."),
    lambda: notices.emulated("bf16", "This processor has none of avx512_bf16"),
    lambda: notices.trains_otherwise("torch/mlp", "It does not train as the reference does: the losses are off."),
    lambda: notices.launches_failed("torch/mlp", 1, "It ran out of memory."),
    notices.cut_off,
    lambda: notices.too_disturbed(5, 10, "are left out"),
    lambda: notices.stolen(0.05),
    lambda: notices.supervisor_busy(0.03),
    lambda: notices.idle_workers_busy(0.2),
    lambda: notices.never_still("torch", 9, 10),
    lambda: notices.slow_start("torch/mlp", 0.09),
    lambda: notices.coarse_clock("torch/mlp", 230, 1000),
    lambda: notices.machine_moved(-0.12),
    lambda: notices.throttled(4),
    lambda: notices.machine_not_probed(3, 90, "the canary crashed"),
    lambda: notices.contended_throughout("mlp/latency", 0.2),
    lambda: notices.ranks_differ_by_state("mlp/latency", "openvino", ["jax"]),
    lambda: notices.driver_on_one_side("590.48.01", None),
    lambda: notices.driver_older("590.48.01", "580.95.05"),
    lambda: notices.cuda_misfit("torch cu13", "CUDA 13.1.1 needs a newer driver.", ""),
    lambda: notices.gpu_throttled("torch/mlp", 2, 10, ["thermal"]),
    lambda: notices.gpu_memory_errors("", 3),
    lambda: notices.gpu_xid("torch/mlp", [79, 31, 79, 500]),
    lambda: notices.gpu_memory_divided("mlp/latency", [["torch"], ["jax"]], 9 << 30, 8 << 30, []),
    lambda: notices.gpu_memory_short("torch/mlp", 9 << 30, 8 << 30),
    lambda: notices.gpu_one_process("mlp/latency"),
    lambda: notices.gpu_shared("mlp/latency", 2, 3 << 30),
    lambda: notices.not_divided("resnet50", "It has BatchNorm."),
    lambda: notices.not_installed(["jax", "tensorflow"]),
    lambda: notices.other_python([("jax", "jax@0.10.2+python=3.11")]),
    lambda: notices.gpu_not_used("its driver is too old.", "Install a newer one."),
    lambda: notices.left_out(["openvino"], "a GPU was chosen"),
    lambda: notices.not_the_locked_library("torch/mlp", "Another libcudnn.so.9 than the locked one was loaded"),
    lambda: notices.known_bad("torch cu13", "Version 9.10.0 of cuDNN is known to compute wrongly.", "Use 9.10.1."),
]


def launch(**kernels: int) -> Launch:
    return Launch(arm="torch", started="", computed=Computed(products={}, source="", kernels=kernels))


@pytest.mark.parametrize("make", ALL, ids=lambda make: make().code)
def test_every_warning_is_a_sentence_with_a_remedy(make: Callable[[], Warning_]) -> None:
    warning = make()
    assert warning.message[0].isupper() or warning.message[0].isdigit() or warning.message.startswith("torch ")
    assert warning.message.endswith(".")
    assert warning.remedy
    assert "  " not in warning.message
    assert msgspec.json.decode(msgspec.json.encode(warning), type=Warning_) == warning


def test_others_on_a_gpu_are_counted() -> None:
    assert notices.gpu_shared("", 1, 0).message.startswith("Another process was on the GPU while this was measured. ")
    two = notices.gpu_shared("", 2, 3 << 30).message
    assert two.startswith("2 other processes were on the GPU while this was measured, with 3.0 GiB of its memory. ")


def test_codes_are_unique_and_every_warning_is_tested() -> None:
    codes = [make().code for make in ALL] + ["generic-mkl"]
    assert len(set(codes)) == len(codes)
    made = [
        function
        for name, function in inspect.getmembers(notices, inspect.isfunction)
        if function.__module__ == notices.__name__ and not name.startswith(("_", "of_"))
    ]
    assert len(made) == len(codes)


def test_every_warning_has_a_producer() -> None:
    """A warning that nothing produces is text that nobody can get: it is produced, or deleted."""
    asked_for = set()
    for file in (ROOT / "suite").rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        own = file == ROOT / "suite" / "levelfield" / "record" / "notices.py"
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            match node.func:
                case ast.Attribute(value=ast.Name(id="notices"), attr=name):
                    asked_for.add(name)
                case ast.Name(id=name) if own:
                    asked_for.add(name)
    there = {
        name
        for name, function in inspect.getmembers(notices, inspect.isfunction)
        if function.__module__ == notices.__name__
    }
    assert there <= asked_for


def test_texts_know_their_situation() -> None:
    assert notices.too_few_launches(1, 5, ["x"]).message.startswith("1 launch is too few")
    assert notices.too_few_launches(1, 5, ["x"]).about == "x"
    assert notices.too_few_launches(2, 5, ["x", "y"]).message.startswith("2 launches are too few")
    assert notices.too_few_launches(2, 5, ["x", "y"]).message.endswith(" 2 cases are not ranked, such as x.")
    assert "; d; e; and 1 more." in notices.machine_changed(list("abcdef")).message
    assert "12% faster" in notices.machine_moved(-0.12).message
    assert "12% slower" in notices.machine_moved(0.12).message
    assert "relative error unknown" in notices.not_equal("x", Absent("NaN"), 1e-5).message
    assert notices.fell_back_to_venv("No engine answers.").message.startswith("No engine answers. The same")


def test_a_machine_is_warned_of_only_for_what_is_known() -> None:
    quiet: Fingerprint = {"clock": {"governor": "performance"}, "memory": {"transparent huge pages": "madvise"}}
    assert notices.of_machine(quiet) == ()
    assert notices.of_machine({}) == ()
    assert notices.of_machine({"clock": {"governor": Absent("a virtual machine")}}) == ()
    noisy: Fingerprint = {"clock": {"governor": "powersave"}, "memory": {"transparent huge pages": "always"}}
    assert [warning.code for warning in notices.of_machine(noisy)] == ["governor", "huge-pages"]
    assert notices.of_machine({"kernel": {"address randomisation": 2}}) == ()
    assert notices.of_machine({"kernel": {"address randomisation": Absent("not readable")}}) == ()
    for setting in (0, 1):
        (warning,) = notices.of_machine({"kernel": {"address randomisation": setting}})
        assert warning.code == "address-randomisation"
        assert f"is {setting} and not 2" in warning.message


def test_mkl_is_reported_of_only_where_it_multiplies_on_a_processor_of_another_vendor() -> None:
    amd: Fingerprint = {"cpu": {"vendor": "AuthenticAMD"}}
    intel: Fingerprint = {"cpu": {"vendor": "GenuineIntel"}}
    torch = Arm(backend="torch", image="torch")
    both = {"MKL, AVX2": 73, "oneDNN, jit:avx2": 27}
    told = notices.generic_mkl(amd, torch, launch(**both), "linear=onednn")
    assert told is not None
    assert told.about == "torch"
    assert "73 of 100 matrix products" in told.message
    assert "MKL, AVX2" in told.message
    assert "torch+linear=onednn" in told.remedy
    packed = notices.generic_mkl(
        amd, msgspec.structs.replace(torch, settings={"linear": "onednn"}), launch(**both), "linear=onednn"
    )
    assert packed is not None
    assert "torch+linear=onednn" not in packed.remedy, "it would be compared with itself"
    jax = notices.generic_mkl(amd, Arm(backend="jax", image="jax"), launch(**both), "")
    assert jax is not None
    assert "torch" not in jax.remedy
    assert notices.generic_mkl(amd, torch, launch(**{"oneDNN, jit:avx2": 27}), "") is None
    assert notices.generic_mkl(amd, torch, Launch(arm="torch", started=""), "") is None
    assert notices.generic_mkl(intel, torch, launch(**both), "linear=onednn") is None
    assert notices.generic_mkl({"cpu": {"vendor": Absent("not told")}}, torch, launch(**both), "linear=onednn") is None


def test_errors_of_the_driver_are_named_once_each() -> None:
    said = notices.gpu_xid("", [79, 31, 79, 500]).message
    assert "(4): XID 79 (the GPU fell off the bus), 31 (memory that is not there was asked for), 500." in said


def test_why_a_gpu_was_shared_in_parts() -> None:
    groups = [["torch", "onnxruntime"], ["jax"]]
    short = notices.gpu_memory_divided("", groups, 9 << 30, 8 << 30, [])
    assert "in 2 groups (torch, onnxruntime; jax), since together they would need about 9.0 GiB" in short.message
    ran_out = notices.gpu_memory_divided("", groups, 1, Absent("not told"), ["jax"])
    assert "since jax ran out of the GPU's memory beside others" in ran_out.message
