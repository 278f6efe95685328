"""`python -m suite.trials.rigor`."""

from suite.trials.rigor.command import main

main()
