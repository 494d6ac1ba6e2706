"""Locating, opening and writing files safely."""
