"""`python -m studies.regressions`."""

from studies.regressions.command import main

main()
