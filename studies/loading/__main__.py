"""`python -m studies.loading`."""

from studies.loading.command import main

main()
