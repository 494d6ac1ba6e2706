"""Catalog, keyword index, column cache and embedding cache."""
