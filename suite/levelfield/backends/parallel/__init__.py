"""Each framework's own engine of data-parallel training: how processes meet, and how their gradients are averaged.

Verified with two processes on a CPU. Of GPUs each process would have one, by the same calls; that is unverified, and a
plan does not ask for it.
"""
