"""Here is a file. What does it say, and where would you cut it?

Scanning the root, parsing each format into a `Document`, cutting it into chunks, and preparing the keyword entries of
those chunks. This room stores nothing, embeds nothing and knows no other room.
"""
