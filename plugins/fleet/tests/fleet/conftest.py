"""What tests of fleets share with those of the product."""

from tests.conftest import (
    _commands_of_plugins,
    _engine_for_marked_tests,
    browser,
    engine,
    pytest_collection_modifyitems,
    pytest_configure,
    reports,
)

__all__ = [
    "_commands_of_plugins",
    "_engine_for_marked_tests",
    "browser",
    "engine",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "reports",
]
