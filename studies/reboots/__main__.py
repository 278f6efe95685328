"""`python -m studies.reboots`."""

from studies.reboots.command import main

main()
