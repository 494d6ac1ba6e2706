"""The door for models: tools, resources and prompts, over HTTP, SSE and lines.

`app` is the place that imports the MCP SDK (a second of start time: import it where it is needed); the other modules
say in plain data and functions what is offered.
"""
