"""Public data sets with labels, on which answers are judged: read on the host, prepared once, scored by their rules.

`worker` alone runs inside an image: that of the preprocessor.
"""
