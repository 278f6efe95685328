"""`python -m suite.trials.bracket`."""

from suite.trials.bracket.command import main

main()
