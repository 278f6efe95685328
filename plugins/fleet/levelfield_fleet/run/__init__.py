"""`fleet run`: one run on every node of a Ray cluster, placed there and brought back.

Ray places and carries. What a node measures is the same `bench`, and its record the same `run.json`. `head` conducts;
`cluster`, `local` and `place` talk to Ray; `carrier`, `node` and `guard` run on a node; between them go the bytes of
`messages`. `events`, `state` and `store` are the journal, and `results` and `images` judge what came back.
"""
