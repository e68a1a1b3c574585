"""What the folders of the package share: OpenCV, types, threads, names that load when used."""
