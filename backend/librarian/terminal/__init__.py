"""Here is a command line. Which verb, with which arguments, and how does its answer look on a terminal?

What this isn't: a place for rules about searching or indexing. Every verb goes through the daemon of the index.
"""
