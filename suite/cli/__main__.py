"""`python -m suite.cli`: the command without its installed script."""

from suite.cli.main import main

main()
