"""What the documentation's site is made of beside its pages: references made from code, links, and checks."""
