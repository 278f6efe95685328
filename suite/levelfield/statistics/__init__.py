"""Pure functions on arrays: no I/O, no knowledge of records, of machines or of frameworks.

Times are compared on the log scale, so that *a* over *b* and *b* over *a* say the same thing. The launch is the unit
of replication; arms are paired by generation, which removes what a generation has in common.
"""
