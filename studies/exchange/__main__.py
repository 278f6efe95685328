"""`python -m studies.exchange`."""

from studies.exchange.command import main

main()
