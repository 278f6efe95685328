"""Training on several hosts: every other host runs `levelfield peer`, which starts workers there when it is asked to.

`messages` is what the two say to each other, `channel` how, `agent` the side of the other host, `remote` the side of
the run. Only workers' own lines and the engines' gradients go from host to host while anything is timed.
"""
