"""`python -m suite.trials.fleet_whole`."""

from suite.trials.fleet_whole.command import main

main()
