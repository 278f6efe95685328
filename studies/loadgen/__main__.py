"""`python -m studies.loadgen`."""

from studies.loadgen.command import main

main()
