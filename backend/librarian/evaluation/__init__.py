"""Rated questions, metrics and the log of queries."""
