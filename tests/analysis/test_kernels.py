"""Who multiplies, as a record says it."""

from levelfield.analysis import kernels
from levelfield.record.schema import Computed, Launch

KERNELS = {"oneDNN, jit:avx2": 1, "MKL, AVX2": 73}


def launch(computed: Computed | None) -> Launch:
    return Launch(arm="torch", started="", computed=computed)


def test_most_products_come_first() -> None:
    recorded = launch(Computed(products={}, source="", kernels=KERNELS, kernels_source="what they print"))
    assert kernels.in_words(recorded) == "MKL, AVX2 (73); oneDNN, jit:avx2 (1)"
    assert kernels.in_words(recorded, counted=False) == "MKL, AVX2; oneDNN, jit:avx2"


def test_what_is_not_known_has_its_reason_and_what_nobody_asked_has_nothing() -> None:
    assert kernels.in_words(launch(Computed({}, "", kernels_source="nothing: it does not say"))) == (
        "nothing: it does not say"
    )
    assert kernels.in_words(launch(Computed({"fp32": 6}, "a graph"))) == ""
    assert kernels.in_words(launch(None)) == ""
