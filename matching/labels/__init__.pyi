from .references import Reference as Reference
from .references import read_references as read_references
from .run import label_pictures as label_pictures
