"""`python -m studies.overhead`."""

from studies.overhead.command import main

main()
