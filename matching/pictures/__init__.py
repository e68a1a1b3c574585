"""Reading pictures: decoding, working size, masks, and names."""
