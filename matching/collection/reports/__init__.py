"""Reports of a collection: exports, pages, and groups of pictures that belong together."""
