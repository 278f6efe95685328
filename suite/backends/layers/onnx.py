"""What the backends that read an ONNX file have in common where its layers are seen."""

from suite.backends.protocol import Unsupported

HOW = (
    "The same file with every tensor between its nodes as an output: what would have been fused is not, and the whole "
    "model's kernels may be others."
)
MOST_BYTES = 2 << 30
"""Of all outputs of one batch together, which an engine holds at the same time."""


def require_held(size_bytes: int) -> None:
    """Refuse outputs that take more than `MOST_BYTES`.

    Parameters
    ----------
    size_bytes
        Of all outputs of one batch.

    Raises
    ------
    Unsupported
        They take more.
    """
    if size_bytes > MOST_BYTES:
        raise Unsupported(
            f"What the layers of a batch put out takes {size_bytes:,} bytes, and {MOST_BYTES:,} are held."
        )
