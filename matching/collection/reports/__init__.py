"""Reports of a collection: exports, pages, groups of pictures that belong together."""
