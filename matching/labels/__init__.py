"""Label once, find everywhere: things shown by references, as the labels of all pictures of a folder."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
