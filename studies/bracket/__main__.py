"""`python -m studies.bracket`."""

from studies.bracket.command import main

main()
