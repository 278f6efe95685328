"""Two processors of one name are told apart, in the headline, on the page, and by a comparison."""

import pytest

from levelfield.analysis import analyse, environment, processor
from levelfield.compare.changes import hardware_differences, have_same_hardware
from levelfield.compare.comparison import compare_runs
from levelfield.record.schema import Absent, Computed, Fact, Launch
from levelfield.report import environment as shown
from levelfield.report import html
from tests.compare.runs import reduced, run, with_machine

ZEN_4 = "avx avx2 avx512_bf16 avx512_vnni avx512f fma sse4_2"
ZEN_3 = "avx avx2 fma sse4_2"


def epyc(family: int, flags: str = ZEN_4) -> dict[str, Fact]:
    return {"model": "AMD EPYC", "family": family, "model number": 17, "stepping": 1, "flags": flags}


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        (ZEN_4, "AVX-512 (bf16, VNNI)"),
        (ZEN_3, "AVX2 (FMA)"),
        ("avx avx2 avx_vnni fma", "AVX2 (FMA, VNNI)"),
        ("amx_bf16 amx_int8 amx_tile avx512_fp16 avx512f", "AMX (bf16, int8), AVX-512 (fp16)"),
        ("asimd sve sve2 svebf16", "SVE2 (bf16)"),
        ("", ""),
    ],
)
def test_the_widest_vectors_are_named(flags: str, name: str) -> None:
    assert processor.instruction_set(flags) == name


def test_families_of_one_name_read_differently() -> None:
    older, newer = (environment.machine_title({"cpu": epyc(family)}) for family in (25, 26))
    assert older.startswith("AMD EPYC (family 25, model 17, stepping 1; AVX-512 (bf16, VNNI))")
    assert newer.startswith("AMD EPYC (family 26, ")
    assert environment.machine_title({"cpu": {"model": "AMD EPYC"}}).startswith("AMD EPYC, ")
    assert processor.title({"cpu": {"model": Absent("not read"), "family": 25}}) == ""


def test_the_page_says_which_processor_it_was() -> None:
    record = with_machine(run("a"), cpu=epyc(26))
    page = html.render(record, analyse(record))
    assert "AMD EPYC (family 26, model 17, stepping 1; AVX-512 (bf16, VNNI))" in page
    lines = {line.name: line.value for line in shown.essentials(record.machine)}
    assert lines["processor family"] == "family 26, model 17, stepping 1"
    assert lines["instruction set"] == "AVX-512 (bf16, VNNI)"


def test_another_family_or_instruction_set_is_other_hardware() -> None:
    old, newer = with_machine(run("a"), cpu=epyc(25)), with_machine(run("b"), cpu=epyc(26))
    found = compare_runs([reduced(old)], [reduced(newer)])
    assert found.same_hardware is False
    assert any("cpu family (25 and 26)" in note for note in found.notes)
    masked = with_machine(run("c"), cpu=epyc(25, ZEN_3))
    assert have_same_hardware([reduced(old), reduced(masked)]) is False
    differences = hardware_differences(reduced(old).hardware, reduced(masked).hardware)
    assert differences == ["cpu instruction set (AVX-512 (bf16, VNNI) and AVX2 (FMA))"]
    unknown = with_machine(run("d"), cpu=epyc(25) | {"flags": Absent("/proc/cpuinfo lists none")})
    assert have_same_hardware([reduced(old), reduced(unknown)]) is True


KERNELS = {"oneDNN, jit:avx2": 1, "MKL, AVX2": 73}


def launch(computed: Computed | None) -> Launch:
    return Launch(arm="torch", started="", computed=computed)


def test_most_products_come_first() -> None:
    recorded = launch(Computed(products={}, source="", kernels=KERNELS, kernels_source="what they print"))
    assert processor.kernels_in_words(recorded) == "MKL, AVX2 (73); oneDNN, jit:avx2 (1)"
    assert processor.kernels_in_words(recorded, counted=False) == "MKL, AVX2; oneDNN, jit:avx2"


def test_what_is_not_known_has_its_reason_and_what_nobody_asked_has_nothing() -> None:
    assert processor.kernels_in_words(launch(Computed({}, "", kernels_source="nothing: it does not say"))) == (
        "nothing: it does not say"
    )
    assert processor.kernels_in_words(launch(Computed({"fp32": 6}, "a graph"))) == ""
    assert processor.kernels_in_words(launch(None)) == ""
