"""`python -m studies.gradient_mean`."""

from studies.gradient_mean.command import main

main()
