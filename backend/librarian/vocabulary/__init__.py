"""What do we call things?

The nouns that stages hand on, what rooms promise each other, the answers of every verb, and the errors. All rooms know
this one and no other; it does nothing and knows none of them.
"""
