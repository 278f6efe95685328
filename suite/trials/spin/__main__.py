"""`python -m suite.trials.spin`."""

from suite.trials.spin.command import main

main()
