"""Texts of the report with ordinary spaces, for tests."""

from levelfield.report import units


def plain(text: str) -> str:
    return text.replace(units.NBSP, " ").replace(units.GROUP_SPACE, " ")
