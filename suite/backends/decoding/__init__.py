"""Answering token by token: for each framework, a cache of keys and values, and the function that goes on from it."""
