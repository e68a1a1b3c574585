"""Label once, find everywhere: things shown by references, as the labels of all pictures of a folder."""

from typing import TYPE_CHECKING

from matching._common.lazy import lazy_names

if TYPE_CHECKING:
    from matching.labels.references import Reference, read_references
    from matching.labels.run import label_pictures

__all__ = ["Reference", "label_pictures", "read_references"]
_MODULES = {
    "Reference": "matching.labels.references",
    "label_pictures": "matching.labels.run",
    "read_references": "matching.labels.references",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
