"""An index of pictures that is kept on disk, grows, and answers queries."""
