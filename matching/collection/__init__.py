"""Matching of many pictures: a cache of features, a database of results, and many processes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
