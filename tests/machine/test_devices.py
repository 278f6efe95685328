"""GPUs that a process is meant to leave alone."""

from pathlib import Path

import pytest

from levelfield.compatibility.devices import Gpu, Nvidia
from levelfield.errors import LevelfieldError
from levelfield.machine.devices import only_visible
from levelfield.plan import Selection, make
from tests.commands import one_clear_sentence, run
from tests.machine.fake_nvml import H100, compile_library, environment

UUID = "GPU-00000000-0000-0000-0000-000000000001"
THREE = Nvidia(driver="595.58.03", gpus=tuple(Gpu(index, "NVIDIA H100", "9.0") for index in range(3)))


def index(word: str) -> int:
    if word == UUID:
        return 1
    if word.isdigit():
        return int(word)
    raise LevelfieldError(f"{word!r} names no GPU.")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, [0, 1, 2]),
        ("0,1,2", [0, 1, 2]),
        ("2", [2]),
        ("2, 0", [0, 2]),
        (UUID, [1]),
        ("0,-1,2", [0]),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("7", []),
        ("MIG-8de47821-9ed2-75e0-acc4-4646a03f8b35", []),
    ],
)
def test_what_the_variable_shows(value: str | None, shown: list[int]) -> None:
    variables = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    found = only_visible(THREE, variables, index)
    assert [gpu.index for gpu in found.gpus] == shown
    assert sorted((*found.hidden, *shown)) == [0, 1, 2]
    none = Nvidia(driver=None, problem="no driver")
    assert only_visible(none, variables, index) == none


def test_a_hidden_gpu_is_neither_taken_nor_given() -> None:
    here = only_visible(THREE, {"CUDA_VISIBLE_DEVICES": "2"}, index)
    assert make(Selection(variant="auto", backends=("jax",)), available=(0,), here=here).gpu == 2
    with pytest.raises(LevelfieldError, match="CUDA_VISIBLE_DEVICES hides the GPU 0") as caught:
        make(Selection(variant="auto", backends=("jax",), gpu="0"), available=(0,), here=here)
    assert "GPU 2 (NVIDIA H100, 9.0)" in caught.value.fix


def test_the_command_obeys_it(tmp_path: Path) -> None:
    library = environment(compile_library(tmp_path / "nvml", gpus=(H100, H100)))
    command = run("doctor", folder=tmp_path, environment={**library, "CUDA_VISIBLE_DEVICES": UUID})
    assert "GPU 1 (NVIDIA H100 80GB HBM3, 9.0). CUDA_VISIBLE_DEVICES hides 0." in " ".join(command.out.split())
    words = ("bench", "--gpu", "0", "--backends", "jax")
    command = run(*words, folder=tmp_path, environment={**library, "CUDA_VISIBLE_DEVICES": ""})
    one_clear_sentence(command, "CUDA_VISIBLE_DEVICES hides the GPU 0.")
