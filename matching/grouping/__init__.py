"""From correspondences to groups of them that move alike: a module for each step."""
