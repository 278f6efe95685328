"""A user's own images to train on: looked through, decoded and made small once, on the host.

`listing` says what is in a folder, `decoding` reads a file's pixels, `resizing` makes them small, `preparing` makes of
all that the one file that workers read, and says what it is.
"""
