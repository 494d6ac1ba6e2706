"""Here are judged questions. How good are the answers?

Metrics by the textbook, judged questions from files, intervals and tests. It searches through a callable and knows no
engine.
"""
