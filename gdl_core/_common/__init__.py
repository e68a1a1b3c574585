"""What the modules of the package share: types, checks, threads, compiling."""
