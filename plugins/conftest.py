"""What tests of plug-ins share with those of the product: the engine, and examples without a deadline."""

from tests.conftest import _engine_for_marked_tests, engine

__all__ = ["_engine_for_marked_tests", "engine"]
