"""`python -m suite.trials.exchange`."""

from suite.trials.exchange.command import main

main()
