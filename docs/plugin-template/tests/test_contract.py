"""The contract of `levelfield plugins check`, in virtual environments: nothing but pip's index is needed."""

import subprocess

import pytest


@pytest.mark.parametrize("model", ["linear", "mlp"])
def test_the_backend_keeps_the_contract(model: str) -> None:
    command = ["levelfield", "plugins", "check", "example", "--model", model, "--launcher", "venv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
