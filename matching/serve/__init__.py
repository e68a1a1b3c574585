"""A local web page that takes two pictures and shows the objects that both show."""
