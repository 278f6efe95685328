"""`python -m suite.trials.loading`."""

from suite.trials.loading.command import main

main()
