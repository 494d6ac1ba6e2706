"""Here is a text. What are its words?

One notion of words, stems and identifiers for index, question, snippet and guard. Not for deciding which words matter.
"""
