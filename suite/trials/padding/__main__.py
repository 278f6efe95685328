"""`python -m suite.trials.padding`."""

from suite.trials.padding.command import main

main()
