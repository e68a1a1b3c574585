"""Code that the modules of the package share: types, checks, threads, compilation."""
