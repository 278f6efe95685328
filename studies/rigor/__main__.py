"""`python -m studies.rigor`."""

from studies.rigor.command import main

main()
