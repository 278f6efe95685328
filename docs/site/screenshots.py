"""Pictures of pages, for the README and the guide: of published records, as this version renders them."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from docs.site.figures import AB, DEFAULT, REPORTS
from levelfield import analysis
from levelfield.compare.formats import html as comparisons
from levelfield.record import files
from levelfield.report import html
from levelfield.run import ab
from levelfield.share import site

HERE = Path(__file__).parents[2]
TIMEOUT_S = 120
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_SWITCHES = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run")


class Picture(msgspec.Struct, frozen=True):
    """The top of one page."""

    file: str
    """In the folder of reports."""
    page: Callable[[Path], Path]
    """Writes the page in a folder, and returns its path."""
    width: int
    """Of the window, in pixels."""
    height: int


def _report(folder: Path) -> Path:
    run = files.read(REPORTS / DEFAULT)
    page = folder / "report.html"
    page.write_text(html.render(run, analysis.analyse(run)), encoding="utf-8")
    return page


def _comparison(folder: Path) -> Path:
    page = folder / "comparison.html"
    page.write_text(comparisons.write(ab.of_record(REPORTS / AB).comparison), encoding="utf-8")
    return page


def _site(folder: Path) -> Path:
    site.publish((REPORTS,), folder / "site", lambda _: None)
    return folder / "site" / "index.html"


PICTURES = (
    Picture("example.png", _report, 1200, 1180),
    Picture("comparison.png", _comparison, 1200, 900),
    Picture("site.png", _site, 1200, 900),
)


def take(picture: Picture, folder: Path) -> Path:
    """Write a picture in a folder, and return its path.

    Raises
    ------
    FileNotFoundError
        There is no Chromium.
    subprocess.SubprocessError
        The browser did not end well, or not in time.
    """
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise FileNotFoundError("There is no Chromium here. Install chromium.")
    file = folder / picture.file
    with tempfile.TemporaryDirectory() as within:
        page = picture.page(Path(within))
        size = f"--window-size={picture.width},{picture.height}"
        options = (f"--user-data-dir={within}/profile", size, f"--screenshot={file}")
        subprocess.run(
            [browser, *_SWITCHES, *options, page.as_uri()], check=True, capture_output=True, timeout=TIMEOUT_S
        )
    return file


if __name__ == "__main__":
    try:
        for each in PICTURES:
            print(take(each, REPORTS).relative_to(HERE))
    except (FileNotFoundError, subprocess.SubprocessError) as error:
        sys.exit(str(error))
