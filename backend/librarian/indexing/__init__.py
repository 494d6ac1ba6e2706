"""Scanning, watching, reading and embedding the files of a library."""
