"""From matches to objects: one function for each kind of input, and a module for each step."""
