"""What tests of users' own files and weights have in common."""

from pathlib import Path

import pytest


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own."""
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
