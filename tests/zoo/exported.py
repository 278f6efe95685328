"""What tests of ONNX files share: each model's export, made once."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

BATCH = 2
Exports: TypeAlias = Callable[[str], tuple[Path, dict[str, str]]]
"""A model's name to the folder of its export (fp32, `BATCH` items a call) and the digests of its files."""
