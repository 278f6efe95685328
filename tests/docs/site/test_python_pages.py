"""The reference of Python names modules that are there."""

import importlib
import re

from docs.site import python_pages


def test_every_page_names_modules_that_can_be_imported() -> None:
    pages = dict(python_pages.pages())
    assert set(pages) == {f"reference/python/{name}.md" for name in (*python_pages.PACKAGES, "index")}
    modules = [name for text in pages.values() for name in re.findall(r"^::: (\S+)$", text, re.MULTILINE)]
    assert "suite.statistics.student" in modules
    assert "suite.record.files" in modules
    for name in modules:
        importlib.import_module(name)
