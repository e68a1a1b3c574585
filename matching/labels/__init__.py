"""Label once, find everywhere: the things in reference pictures are labelled in all pictures of a folder."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
