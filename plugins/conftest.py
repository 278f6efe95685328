"""What tests of plug-ins share: each plug-in's entry points are found as if it were installed; the engine."""

from collections.abc import Iterator

import pytest

from tests import plugged
from tests.conftest import _engine_for_marked_tests, engine

__all__ = ["_engine_for_marked_tests", "engine"]


@pytest.fixture(autouse=True, scope="module")
def _installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    project = next(folder for folder in request.path.parents if (folder / "pyproject.toml").is_file())
    with plugged.on_path(plugged.register(project, tmp_path_factory.mktemp("installed"))):
        yield
