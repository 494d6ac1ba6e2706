"""The socket that a server listens on, and who holds its port."""

from __future__ import annotations

import errno
import socket

from ..errors import SetupError


def bind(host: str, port: int) -> socket.socket:
    """A bound socket. Raises `SetupError` naming who holds the port.

    The protocol is named: asyncio sends small packets at once (TCP_NODELAY) only where it reads TCP there, and else an
    answer's body would wait 40 ms for the acknowledgement of its head.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host.strip("[]"), port))
        listener.listen(256)
        listener.set_inheritable(False)
    except OSError as error:
        listener.close()
        taken, other = error.errno == errno.EADDRINUSE, "choose another port with --port, mcp.port or MCP_PORT."
        if taken or error.errno == errno.EACCES:
            hint = f"End that program, or {other}" if taken else f"Ports below 1024 may be the system's: {other}"
        else:
            hint = "Give an address of this machine with --host, mcp.host or MCP_HOST, such as 127.0.0.1."
        raise SetupError(
            f"Port {port} on {host} can't be used: {error.strerror}{holder(port) if taken else ''}.", hint=hint
        ) from error
    return listener


def holder(port: int) -> str:
    """Who listens on a port, as the end of a sentence; empty where that can't be told."""
    import psutil

    try:
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port:
                if connection.pid is None:
                    return "; another user's program holds it"
                return f"; {psutil.Process(connection.pid).name()} (process {connection.pid}) holds it"
    except psutil.Error:
        return ""
    return ""
