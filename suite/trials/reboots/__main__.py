"""`python -m suite.trials.reboots`."""

from suite.trials.reboots.command import main

main()
