"""Retrieval, ranking, snippets and explanations."""
