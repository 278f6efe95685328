"""Saves a network of the transformers library, or loads one by `from_pretrained` and calls it once.

It runs as text in that library's image. Its argument is a `Request` as JSON; what it loaded is its last line, after
`ANSWER`.
"""

import sys
import time
from typing import Any

import msgspec

ANSWER = "levelfield loaded: "


class Request(msgspec.Struct, frozen=True):
    """Which network, and what to do with it."""

    network: str
    """Name of the library's class."""
    folder: str
    configuration: str = ""
    """Name of the class of its configuration; empty: a network that was saved is loaded."""
    fields: dict[str, int] = {}
    """Of the configuration, where they are not the library's defaults."""
    inputs: dict[str, tuple[int, ...]] = {}
    """Shapes of the inputs of the first call, by name; those with ids have whole numbers."""


class Loaded(msgspec.Struct, frozen=True):
    """Times of one process."""

    load_ns: int
    """`from_pretrained`, with the library and PyTorch imported before."""
    first_call_ns: int


def main(request: Request) -> None:
    """Do what is requested.

    Parameters
    ----------
    request : Request
        What to do.
    """
    import torch
    import transformers

    network: Any = getattr(transformers, request.network)
    if request.configuration:
        torch.manual_seed(1)
        made = getattr(transformers, request.configuration)(**request.fields)
        network(made).save_pretrained(request.folder)
        return
    inputs = {name: _example(torch, name, shape) for name, shape in request.inputs.items()}
    clock = time.perf_counter_ns
    began = clock()
    module = network.from_pretrained(request.folder, dtype=torch.float32, local_files_only=True).eval()
    loaded = clock()
    with torch.inference_mode():
        module(**inputs)
    called = clock()
    print(ANSWER + msgspec.json.encode(Loaded(loaded - began, called - loaded)).decode(), flush=True)


def _example(torch: Any, name: str, shape: tuple[int, ...]) -> Any:  # noqa: ANN401 (torch's types)
    return torch.ones(shape, dtype=torch.int64) if name.endswith(("ids", "mask")) else torch.rand(shape)


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=Request))
