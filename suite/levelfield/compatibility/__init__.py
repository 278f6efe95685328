"""What fits together: CUDA releases, drivers, GPUs and library versions, by the table `images/compatibility.toml`.

Pure functions of facts: of this machine, or of a record's fingerprint.
"""
