"""Addresses of Dask schedulers."""

import re

_ADDRESS = re.compile(r"([a-z]+://)?[^/\s]+:\d{1,5}")


def is_address(text: str) -> bool:
    """Test whether a text has the form of a scheduler's address: host:port, or protocol://host:port."""
    return _ADDRESS.fullmatch(text) is not None
