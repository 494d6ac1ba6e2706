"""MCP and REST over HTTP, Server-Sent Events and stdio."""
