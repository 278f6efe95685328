"""`python -m studies.folklore`."""

from studies.folklore.command import main

main()
