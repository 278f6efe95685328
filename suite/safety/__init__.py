"""Whatever a stranger wrote: the guarded way in, and the escaped way out."""
