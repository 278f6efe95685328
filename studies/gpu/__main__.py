"""`python -m studies.gpu`."""

from studies.gpu.command import main

main()
