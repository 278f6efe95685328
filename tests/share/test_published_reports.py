"""Every published report is what this version makes of its record: its reader has no other version at hand."""

from pathlib import Path

import pytest
from selenium import webdriver

from levelfield.share.site import publish
from tests.axe import check_page
from tests.commands import ROOT, call

PUBLISHED = sorted(path.parent for path in (ROOT / "reports").glob("*/report.html"))


@pytest.mark.extended
@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.name)
def test_a_published_report_verifies(folder: Path, tmp_path: Path) -> None:
    """Where a page changed, `nox -s pages` renders them anew."""
    call("verify", folder, folder=tmp_path, code=0)


@pytest.mark.extended
@pytest.mark.browser
def test_their_site_is_small_silent_and_accessible(browser: webdriver.Chrome, tmp_path: Path) -> None:
    site = tmp_path / "site"
    published = publish(PUBLISHED, site, print)
    assert (published.runs, published.skipped) == (len(PUBLISHED), ())
    assert sum(file.stat().st_size for file in site.rglob("*") if file.is_file()) <= 30e6
    for page in (site / "index.html", *sorted(site.glob("trends/*.html"))):
        check_page(browser, page)
