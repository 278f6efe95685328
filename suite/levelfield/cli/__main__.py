"""`python -m levelfield.cli`: the command without its installed script."""

from levelfield.cli.main import main

main()
