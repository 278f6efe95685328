"""The canary: a fixed NumPy workload. When its time moves, the machine moved."""
