"""The same run on every node of a fleet: which node is slow, noisy, wrong, or not like the others.

`fleet gather` judges records that came in any way; `fleet run` places the runs with Ray and judges what comes back.
"""
