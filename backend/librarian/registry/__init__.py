"""MCP servers, agents and tools as documents."""
