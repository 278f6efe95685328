import json
import subprocess
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, environments
from levelfield.images.build import estimate

LIST = """
import json, sys
from importlib.metadata import distributions
import levelfield.worker
print(json.dumps({"python": sys.version_info[:2], "package": levelfield.__file__,
                  "found": sorted((d.name.lower(), d.version) for d in distributions())}))
"""


@pytest.fixture(scope="module")
def made() -> environments.Environment:
    try:
        environments.find_python(catalogue.lock("canary"))
    except LevelfieldError as error:
        pytest.skip(str(error))
    return environments.make("canary")


def test_an_environment_holds_what_the_lock_says_and_nothing_else(made: environments.Environment) -> None:
    result = subprocess.run(
        [made.python, "-P", "-c", LIST], env={"PYTHONPATH": str(made.worker_code)}, capture_output=True, check=True
    )
    inside = json.loads(result.stdout)
    assert inside["found"] == [[pin.name, pin.version] for pin in catalogue.lock("canary").pins]
    assert inside["python"] == [3, 11]
    assert inside["package"] == str(made.worker_code / "levelfield" / "__init__.py")


def test_it_carries_only_the_code_that_runs_inside(made: environments.Environment) -> None:
    assert {path.name for path in (made.worker_code / "levelfield").iterdir()} - {"__pycache__"} == {
        "__init__.py",
        "plugins.py",
        "version.py",
        "py.typed",
        "backends",
        "worker",
        "zoo",
    }


@pytest.mark.extended
def test_an_environment_that_was_cut_off_is_made_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = catalogue.lock("canary")
    interpreter, version = environments.find_python(lock)
    folder = environments.location(lock, version)
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(interpreter)
    cost = estimate(["canary"], "venv")
    assert cost.making == ("canary",)
    assert cost.download_bytes == sum(pin.size_bytes for pin in lock.pins)
    assert "canary" in cost.sentence()
    made = environments.make("canary")
    assert environments.is_complete(folder)
    assert subprocess.run([made.python, "-c", "import numpy"], check=False).returncode == 0
