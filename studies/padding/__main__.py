"""`python -m studies.padding`."""

from studies.padding.command import main

main()
