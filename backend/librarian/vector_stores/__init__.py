"""Stores of vectors behind one interface, and what keeps them in step with the catalog."""
