"""`python -m studies.peers`."""

from studies.peers.command import main

main()
