"""The server for people and scripts: REST, the page, health and metrics, and the port that MCP's HTTP routes share."""
