"""`python -m studies.fleet`."""

from studies.fleet.command import main

main()
