"""What MkDocs calls while it builds the site (`mkdocs.yml`)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel

from docs.site import checking, command_pages, linking, python_pages, record_pages

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
MADE = (command_pages, record_pages, python_pages)
"""Modules with pages made from code."""


def on_config(config: "MkDocsConfig") -> "MkDocsConfig":
    """Name the pages made from code in the navigation, in place of their pattern there, and those it does not name."""
    made = [path for pages in MADE for path, _ in pages.pages()]
    nav = _expanded(config.nav, made)
    named = set(_names(nav))
    rest = sorted(path.name for path in (ROOT / "docs").glob("*.md") if path.name not in named)
    config.nav = [*nav, {"More": rest}] if rest else nav
    return config


def _names(nav: Any) -> Iterator[str]:  # noqa: ANN401  (lists, dictionaries and strings, as in the file)
    if isinstance(nav, str):
        yield nav
    for inner in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from _names(inner)


def _expanded(nav: Any, made: Sequence[str]) -> Any:  # noqa: ANN401  (lists, dictionaries and strings, as in the file)
    if isinstance(nav, dict):
        return {title: _expanded(inner, made) for title, inner in nav.items()}
    if not isinstance(nav, list):
        return nav
    found: list[Any] = []
    for each in nav:
        if isinstance(each, str) and each.endswith("*.md"):
            folder = each.removesuffix("*.md")
            found += sorted(path for path in made if path.startswith(folder) and not path.endswith("/index.md"))
        else:
            found.append(_expanded(each, made))
    return found


def on_files(files: Files, config: "MkDocsConfig") -> Files:
    """Add the pages made from code, and what pages link to outside of `docs/`."""
    for made in MADE:
        for path, text in made.pages():
            files.append(File.generated(config, path, content=text))
    shim = "assets/iframe-worker.js"  # the name by which the plugin `offline` knows that there is one
    files.append(File.generated(config, shim, abs_src_path=str(Path(__file__).with_name("iframe-worker.js"))))
    for name, path in linking.PROJECT.items():
        files.append(File.generated(config, path, abs_src_path=str(ROOT / name)))
    for file in _linked(ROOT / path for path in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")):
        path = linking.place(ROOT, file)
        if files.get_file_from_path(path) is None:
            inclusion = InclusionLevel.NOT_IN_NAV
            files.append(File.generated(config, path, abs_src_path=str(file), inclusion=inclusion))
    return files


def on_page_markdown(markdown: str, page: "Page", config: "MkDocsConfig", files: Files) -> str:
    """Check a page's commands, and lead its links to where their targets are in the site."""
    del config, files
    if page.file.abs_src_path is None:
        return markdown  # made from code
    for text in checking.commands(markdown):
        if text.startswith("levelfield "):
            try:
                checking.understand(text)
            except click.ClickException as error:
                raise PluginError(f"{page.file.src_uri}: `{text}`: {error.format_message()}") from error
    return linking.relinked(ROOT, Path(page.file.abs_src_path).resolve(), markdown)


def _linked(more: Iterator[Path]) -> set[Path]:
    """Return all files that pages link to, and those that such pages link to in turn."""
    seen: set[Path] = set()
    waiting = [*(ROOT / "docs").glob("*.md"), *more]
    while waiting:
        page = waiting.pop()
        found = linking.linked(page, page.read_text(encoding="utf-8")) - seen
        seen |= found
        waiting += [file for file in found if file.suffix == ".md"]
    return {file for file in seen if file.is_relative_to(ROOT)}
