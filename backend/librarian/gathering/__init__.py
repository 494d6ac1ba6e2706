"""Here is a web site or a registry: bring it in as files, or read it as entities."""
