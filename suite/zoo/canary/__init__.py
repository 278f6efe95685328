"""The canary: a fixed NumPy workload that shows when the machine moved."""
