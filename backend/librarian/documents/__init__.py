"""Documents and threads as responses: addresses, sections, freshness, listings, status."""
