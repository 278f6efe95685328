"""`python -m suite.trials.loadgen`."""

from suite.trials.loadgen.command import main

main()
