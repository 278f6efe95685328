"""Whether `levelfield ab` finds changes of speed that released versions are known to have, and none where none is."""
