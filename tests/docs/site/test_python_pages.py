"""The reference of Python names what is there."""

import pkgutil
import re

from docs.site import python_pages


def test_every_page_names_what_can_be_imported() -> None:
    pages = dict(python_pages.pages())
    assert set(pages) == {f"reference/python/{name}.md" for name in (*python_pages.PACKAGES, "index")}
    named = [name for text in pages.values() for name in re.findall(r"^::: (\S+)$", text, re.MULTILINE)]
    assert "levelfield.statistics.student" in named
    assert {"levelfield.load", "levelfield.record.files"} <= set(named)
    for name in named:
        pkgutil.resolve_name(name)
