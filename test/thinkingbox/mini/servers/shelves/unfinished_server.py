"""A server that does not come to serving."""

raise RuntimeError("the shelf was never built")
