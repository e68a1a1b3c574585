"""The merging loop, compiled, and the structures that it works on."""
