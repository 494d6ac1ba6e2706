"""Here is a window's vector. Remember it.   Here is a question's. Which windows point the same way?

`archive` is the truth (float16 by model and window hash); `exact` and `chroma` are projections of it that answer
queries and may be thrown away at any time.
"""
