"""Here is a question. Which passages answer it, in what order, and why?

Two legs ask the indexes, modes weigh what they found, pages and snippets show it. This room stores nothing and reads no
file; it knows indexes and models only through protocols.

Figures in comments are of whole documents, nDCG@10 where nothing else is said, on the judged sets of the manual's page
on quality (`docs/librarian/explanation/quality.md`). The sets themselves aren't part of the repository.
"""
