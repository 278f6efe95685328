"""`python -m studies.published_comparison`."""

from studies.published_comparison.command import main

main()
