"""CUDA and cuDNN as they are installed on the host: images bring their own, and the record of an image names them."""

import re
from pathlib import Path

import msgspec

from levelfield.machine.reading import ROOT, Facts, text
from levelfield.record.schema import Absent

_TOOLKIT = Path("usr/local/cuda")
_LIBRARIES = ("usr/lib/*-linux-gnu", "usr/lib64", "usr/lib", "usr/local/cuda/lib64", "usr/local/cuda/targets/*/lib")
_VERSIONED = re.compile(r"libcudnn\.so\.(\d+(?:\.\d+){2,3})")
"""`libcudnn.so.9` is a link to the file that is named after the whole version."""


class _Part(msgspec.Struct):
    version: str


class _Toolkit(msgspec.Struct):
    """The part of `version.json` that is read; toolkits have it since CUDA 11.1."""

    cuda: _Part


def host_libraries(root: Path = ROOT) -> Facts:
    """Return the versions of the CUDA toolkit and of cuDNN on the host; absent where the usual folders have none."""
    return {"CUDA toolkit": _toolkit(root), "cuDNN": _cudnn(root)}


def _toolkit(root: Path) -> str | Absent:
    told = text(root / _TOOLKIT / "version.json")
    if isinstance(told, Absent):
        return Absent(f"no toolkit is in /{_TOOLKIT}: {told.reason}")
    try:
        return msgspec.json.decode(told, type=_Toolkit).cuda.version
    except msgspec.MsgspecError as error:
        return Absent(f"/{_TOOLKIT}/version.json cannot be read: {error}")


def _cudnn(root: Path) -> str | Absent:
    names = {file.name for folder in _LIBRARIES for file in root.glob(f"{folder}/libcudnn.so.*")}
    found = sorted(match[1] for name in names if (match := _VERSIONED.fullmatch(name)))
    return ", ".join(found) or Absent("no libcudnn is in the folders of the system's libraries")
