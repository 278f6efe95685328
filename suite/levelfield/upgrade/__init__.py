"""`levelfield upgrade`: is a driver, kernel or CUDA upgrade safe, measured over reboots: old, new, old.

A boot is the unit of replication: each is measured by one run. What happens is written to a journal (`events`), and
the state is a pure fold of it (`progress`). `store` keeps the journals, `side` sees which stack this is, and `measure`
makes the run of one boot. `verdict` compares the boots: `rules` and `settings` say what else changed, `judging` what
follows from the costs of boots, and `answer` writes the first line.
"""
