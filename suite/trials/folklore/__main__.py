"""`python -m suite.trials.folklore`."""

from suite.trials.folklore.command import main

main()
