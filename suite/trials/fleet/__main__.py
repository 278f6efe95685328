"""`python -m suite.trials.fleet`."""

from suite.trials.fleet.command import main

main()
