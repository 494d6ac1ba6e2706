"""Crawled sites as documents."""
