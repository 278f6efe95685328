"""Distributions that may not be passed on at will: whose licence lets an image that holds them be used, not published.

Licences are read from what the distributions say of themselves (`License-Expression` of their metadata, and the text
beside it); not every wheel says it in a way that a program can read, hence this list of names.

References
----------
NVIDIA CUDA Toolkit EULA, section 1.1, https://docs.nvidia.com/cuda/eula/
NVIDIA TensorRT SLA, https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/sla.html
Intel oneMKL licence FAQ, https://www.intel.com/content/www/us/en/developer/articles/license/onemkl-license-faq.html
"""

import re
from collections.abc import Iterable

_RESTRICTED = re.compile(
    r"nvidia-(?!ml-py$).+"  # libraries of CUDA, cuDNN, NVSHMEM, cuSPARSELt; the bindings of NVML are under BSD
    r"|cuda-bindings"  # 12 is under NVIDIA's own licence, later ones under Apache
    r"|tensorrt.*|.+-tensorrt(-.+)?"
    r"|mkl(-.+)?|intel-openmp"
)


def restricted(distributions: Iterable[str]) -> tuple[str, ...]:
    """Return those distributions whose licence restricts who may pass them on.

    Examples
    --------
    >>> restricted(["torch", "nvidia-cublas", "nvidia-ml-py", "tensorrt-cu13-libs"])
    ('nvidia-cublas', 'tensorrt-cu13-libs')
    """
    return tuple(sorted(name for name in distributions if _RESTRICTED.fullmatch(name)))
