"""How lines are counted."""

from tests.size import Size, of_source

TEXT = '''"""A module."""

import os  # for its name

NAME = """two
lines"""
"""What it is."""


def name() -> str:
    """Return it."""
    # nothing else
    return os.name
'''


def test_docstrings_comments_and_blank_lines_are_no_code() -> None:
    assert of_source(TEXT) == Size(files=1, code=5, docstrings=3, total=13)
