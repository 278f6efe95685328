"""Whose kernels multiply matrices and convolve, and for which instruction set, as the libraries say themselves.

Loaded libraries say little: torch's wheel holds both MKL and oneDNN, and which of them computes a layer depends on its
kind, its precision and the processor. So libraries that can say it are asked to during one untimed call.

See oneDNN, "Verbose Mode": https://uxlfoundation.github.io/oneDNN/dev_guide_verbose.html
MKL, "Using oneMKL Verbose Mode": Developer Guide for Intel oneMKL, chapter "Managing Output"
"""

import ctypes
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable

MKL, ONEDNN = "MKL", "oneDNN"
_STDOUT = 1

_ONEDNN = re.compile(r"^onednn_verbose,(?:v\d+,)?primitive,exec,\w+,(?:convolution|matmul|inner_product),([^,]+),")
_MKL = re.compile(r"^MKL_VERBOSE [A-Z]\w*GEMM(?!_(PACK|GET))\w*\(")
"""Products, and not the packing of a matrix for later ones (`SGEMM_PACK`, `SGEMM_PACK_GET_SIZE`)."""
_MKL_FOR = re.compile(r"^MKL_VERBOSE .* for (?P<architecture>.*?)(?: enabled)? processors?\b")
_TRADE_MARKS = re.compile(r"\((?:R|TM)\)")
_WIDTH = re.compile(r"avx[\w-]*|sse[\w.]*|amx\w*|neon\w*|sve\w*", re.IGNORECASE)


def output_of(call: Callable[[], object]) -> str:
    """Call once and return what was printed meanwhile, by C code too.

    Raises OSError: the standard output cannot be redirected.
    """
    flush = ctypes.CDLL(None).fflush
    with tempfile.TemporaryFile() as file:
        flush(None)
        kept = os.dup(_STDOUT)
        try:
            os.dup2(file.fileno(), _STDOUT)
            call()
        finally:
            flush(None)
            os.dup2(kept, _STDOUT)
            os.close(kept)
        file.seek(0)
        return file.read().decode(errors="replace")


def count_verbose(text: str) -> dict[str, int]:
    r"""Count the products in what MKL and oneDNN print, by library and instruction set.

    Examples
    --------
    >>> count_verbose("onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core,undef,src_f32::blocked:ab")
    {'oneDNN, brg_matmul:avx512_core': 1}
    >>> header = "MKL_VERBOSE oneMKL 2024.0 for Intel(R) 64 architecture Intel(R) AVX2 enabled processors, Lnx"
    >>> count_verbose("\n".join((header, "MKL_VERBOSE SGEMM(T,N,768,128,768,0x7ff) 1.2ms CNR:OFF Dyn:1 FastMM:1")))
    {'MKL, AVX2': 1}
    """
    counted: Counter[str] = Counter()
    kernels = MKL
    for line in text.splitlines():
        if header := _MKL_FOR.match(line):
            kernels = f"{MKL}, {_instructions(header['architecture'])}"
        elif _MKL.match(line):
            counted[kernels] += 1
        elif found := _ONEDNN.match(line):
            counted[f"{ONEDNN}, {found[1]}"] += 1
    return dict(counted)


def _instructions(architecture: str) -> str:
    """Return the instruction set that MKL names, or that it takes the generic path where it names none."""
    named = _WIDTH.findall(_TRADE_MARKS.sub("", architecture))
    return str(named[-1]) if named else "generic x86-64"


def count_openvino(primitives: Iterable[str]) -> dict[str, int]:
    """Count what OpenVINO names as the implementation of each product (`brgemm_avx512_f32`), without the type.

    Examples
    --------
    >>> count_openvino(["brgconv_avx2_f32", "brgconv_avx2_f32", "gemm_mlas_f32"])
    {'OpenVINO, brgconv_avx2': 2, 'OpenVINO, gemm_mlas': 1}
    """
    return dict(Counter(f"OpenVINO, {name.lower().rpartition('_')[0] or name.lower()}" for name in primitives))
