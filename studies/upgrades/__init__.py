"""What `levelfield ab` says where the truth is known, and what it says of released versions."""
