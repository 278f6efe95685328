"""`python -m studies.fleet_whole`."""

from studies.fleet_whole.command import main

main()
