"""Name what is wrong with the figures of README.md and docs/; `--write` writes the computed values into the pages."""

import sys

from tests.commands import ROOT
from tests.figures.all import passages
from tests.figures.checking import check, corrected
from tests.figures.pages import PAGES, text_of


def main(words: list[str]) -> int:
    if words == ["--write"]:
        for page in PAGES:
            (ROOT / page).write_text(corrected(page, text_of(page), passages()), encoding="utf-8")
        text_of.cache_clear()
    found = [line for page in PAGES for line in check(page, passages())]
    print("\n".join(found) or "Every figure is what it rests on.")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
