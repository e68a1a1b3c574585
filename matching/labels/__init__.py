"""Label once, find everywhere: the things in reference pictures are labelled in all pictures of a folder."""

from matching.labels.references import Reference, read_references
from matching.labels.run import label_pictures

__all__ = ["Reference", "label_pictures", "read_references"]
