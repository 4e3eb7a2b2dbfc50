"""Score answers against references, and count refusals."""
