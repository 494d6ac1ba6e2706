"""The background process that owns an index, and the bridge to it."""
