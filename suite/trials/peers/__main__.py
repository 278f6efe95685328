"""`python -m suite.trials.peers`."""

from suite.trials.peers.command import main

main()
