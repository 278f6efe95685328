"""`python -m suite.trials.overhead`."""

from suite.trials.overhead.command import main

main()
