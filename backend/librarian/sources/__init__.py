"""Documentation of others as products of the library: Git repositories and folders, copied below its root."""
