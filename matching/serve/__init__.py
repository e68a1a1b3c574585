"""A local web page: two pictures in, the objects that both show out."""
