import msgspec

from levelfield.record import warnings as notices
from levelfield.record.schema import Absent, Arm, Computed, Fingerprint, Launch
from tests.known import known


def launch(**kernels: int) -> Launch:
    return Launch(arm="torch", started="", computed=Computed(products={}, source="", kernels=kernels))


def test_a_machine_is_warned_of_only_for_what_is_known() -> None:
    quiet: Fingerprint = {"clock": {"governor": "performance"}, "memory": {"transparent huge pages": "madvise"}}
    assert notices.of_machine(quiet) == ()
    assert notices.of_machine({}) == ()
    assert notices.of_machine({"clock": {"governor": Absent("a virtual machine")}}) == ()
    noisy: Fingerprint = {"clock": {"governor": "powersave"}, "memory": {"transparent huge pages": "always"}}
    assert [warning.code for warning in notices.of_machine(noisy)] == ["governor", "huge-pages"]


def test_mkl_is_reported_of_only_where_it_multiplies_on_a_processor_of_another_vendor() -> None:
    amd: Fingerprint = {"cpu": {"vendor": "AuthenticAMD"}}
    intel: Fingerprint = {"cpu": {"vendor": "GenuineIntel"}}
    torch = Arm(backend="torch", image="torch")
    both = {"MKL, AVX2": 73, "oneDNN, jit:avx2": 27}
    told = known(notices.generic_mkl(amd, torch, launch(**both), "linear=onednn"))
    assert told.about == "torch"
    assert "73 of 100 matrix products" in told.message
    assert "MKL, AVX2" in told.message
    assert "torch+linear=onednn" in told.remedy
    packed = notices.generic_mkl(
        amd, msgspec.structs.replace(torch, settings={"linear": "onednn"}), launch(**both), "linear=onednn"
    )
    assert "torch+linear=onednn" not in known(packed).remedy, "it would be compared with itself"
    jax = known(notices.generic_mkl(amd, Arm(backend="jax", image="jax"), launch(**both), ""))
    assert "torch" not in jax.remedy
    assert notices.generic_mkl(amd, torch, launch(**{"oneDNN, jit:avx2": 27}), "") is None
    assert notices.generic_mkl(amd, torch, Launch(arm="torch", started=""), "") is None
    assert notices.generic_mkl(intel, torch, launch(**both), "linear=onednn") is None
    assert notices.generic_mkl({"cpu": {"vendor": Absent("not told")}}, torch, launch(**both), "linear=onednn") is None
