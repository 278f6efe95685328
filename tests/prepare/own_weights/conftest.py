"""A cache of its own for every test."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "cache"))
