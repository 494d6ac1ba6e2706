"""Who owns this index folder?   Start it if nobody does.   Pass messages through.

One process, the daemon, owns an index folder: it holds a lock there and writes down its address. Relays (one per MCP
host) and the command line find it, or start it, and talk over a socket. Nothing here knows models, MCP's meaning or
searching, and everything but the error words comes from the standard library, so that a relay starts in a tenth of a
second and stays small.
"""
