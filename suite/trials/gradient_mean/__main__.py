"""`python -m suite.trials.gradient_mean`."""

from suite.trials.gradient_mean.command import main

main()
