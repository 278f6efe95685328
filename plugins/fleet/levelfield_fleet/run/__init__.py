"""`fleet run`: one run on every node of a Ray cluster, placed there and brought back.

Ray places and carries. What a node measures is the same `bench`, and its record the same `run.json`. `head` conducts;
`cluster`, `local` and `asking` talk to Ray; `node` and `guard` run on a node; between them go the bytes of `messages`.
`journal` and `state` are how far it is, and `results` and `images` judge what came back.
"""
