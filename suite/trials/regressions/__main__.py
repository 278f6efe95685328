"""`python -m suite.trials.regressions`."""

from suite.trials.regressions.command import main

main()
