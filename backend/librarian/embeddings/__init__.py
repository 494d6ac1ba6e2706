"""Embedding models, cross-encoders and language models."""
