"""From pictures, or given matches, to a result: a module for each kind of input."""
