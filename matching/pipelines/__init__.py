"""From pictures, or given matches, to a result: the stages in their order, one module a kind of input."""
