import json
import subprocess

import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, environments

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
        "__init__.py", "plugins.py", "version.py", "py.typed", "backends", "record", "worker", "zoo",
    }  # fmt: skip
