"""A gate from noise: limits that runs without a change give for later runs, as a file (`baseline derive`)."""
