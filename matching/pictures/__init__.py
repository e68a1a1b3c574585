"""Reading pictures: decoding, working size, masks, names."""
