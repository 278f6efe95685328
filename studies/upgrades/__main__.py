"""`python -m studies.upgrades`."""

from studies.upgrades.command import main

main()
