"""Here is a question. Which passages answer it, in what order, and why?

Two legs ask the indexes, modes weigh what they found, pages and snippets show it. This room stores nothing and reads no
file; it knows indexes and models only through protocols.
"""
