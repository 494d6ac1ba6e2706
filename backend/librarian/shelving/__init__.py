"""Here is a chunk. Remember it.   Here is its id. Give it back.

`catalog` is the truth about text, `vectors/archive` about vectors; the keyword index and the vector stores are
projections of them that can be made anew. Also keeps them in step with the folder: it looks, reads in child processes,
and one process writes. Not for ranking.
"""
