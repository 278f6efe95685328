"""`python -m suite.trials.upgrades`."""

from suite.trials.upgrades.command import main

main()
