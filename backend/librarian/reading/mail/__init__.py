"""Mails: what a message says, what of it is its own words, and archives that hold many."""

from __future__ import annotations
