"""`python -m studies.spin`."""

from studies.spin.command import main

main()
