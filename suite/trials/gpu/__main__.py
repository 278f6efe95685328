"""`python -m suite.trials.gpu`."""

from suite.trials.gpu.command import main

main()
