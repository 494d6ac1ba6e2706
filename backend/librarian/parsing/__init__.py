"""From a file to a document with sections, blocks and chunks; one module per format."""
