"""Who multiplies, from what MKL, oneDNN, OpenVINO and XLA say."""

import ctypes
import doctest
import os

import pytest

from levelfield.backends import hlo, kernels

GENERIC = (
    "MKL_VERBOSE oneMKL 2024.0 Update 2 Product build 20240605 for Intel(R) 64 architecture processors, Lnx 2.45GHz"
)

PRINTED = (
    GENERIC,
    "MKL_VERBOSE SGEMM_PACK_GET_SIZE(A,768,128,768) 4us",
    "MKL_VERBOSE SGEMM_PACK(C,A,T,768,128,768) 90us",
    "MKL_VERBOSE SGEMM_COMPUTE(C,P,N,768,128,768) 1ms",
    "MKL_VERBOSE SGEMM_BATCH(N,N,0x7ff) 1ms",
    "MKL_VERBOSE SAXPY(10,0x7ff) 1us",
    "onednn_verbose,v1,info,cpu,isa:Intel AVX2",
    "onednn_verbose,v1,primitive,create:cache_miss,cpu,matmul,brg_matmul:avx2,undef,src_f32",
    "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src_f32",
    "onednn_verbose,v1,primitive,exec,cpu,convolution,brg_conv_fwd:avx2,forward_inference,src_f32",
    "onednn_verbose,primitive,exec,cpu,inner_product,brgemm:avx2,forward_inference,src_f32",
    "what a program prints",
)
"""Two products of MKL's and two of oneDNN's among other lines."""


@pytest.mark.parametrize("module", [kernels, hlo])
def test_examples_in_docstrings_hold(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.attempted
    assert not found.failed


def test_only_products_are_counted() -> None:
    assert kernels.count_verbose("\n".join(PRINTED)) == {
        "MKL, generic x86-64": 2,
        "oneDNN, brg_conv_fwd:avx2": 1,
        "oneDNN, brgemm:avx2": 1,
    }


def test_what_c_code_prints_meanwhile_is_returned_and_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    library = ctypes.CDLL(None)

    def printing() -> None:
        library.puts(b"in between")
        os.write(1, b"and past the buffer\n")

    library.puts(b"before")
    found = kernels.output_of(printing)
    os.write(1, b"after\n")
    library.fflush(None)
    assert sorted(found.splitlines()) == ["and past the buffer", "in between"]
    assert capfd.readouterr().out == "before\nafter\n"
