"""What the registry answers: servers, agents and tools. Part of the wire, kept apart because few libraries hold any."""

from __future__ import annotations

from typing import Any, Literal

from .wire import Wire

ENTITY_TYPES = ("mcp_server", "a2a_agent", "tool")


class MatchingTool(Wire):
    tool_name: str
    description: str = ""


class ServerItem(Wire):
    path: str
    server_name: str
    description: str = ""
    tags: list[str]
    relevance_score: float
    matching_tools: list[MatchingTool]
    file_path: str = ""


class SkillItem(Wire):
    name: str
    description: str = ""


class AgentItem(Wire):
    path: str
    agent_name: str
    description: str = ""
    tags: list[str]
    capabilities: list[str]
    skills: list[SkillItem]
    relevance_score: float
    file_path: str = ""


class ToolItem(Wire):
    server_path: str
    tool_name: str
    description: str = ""
    inputSchema: dict[str, Any]  # noqa: N815 (MCP's own spelling)
    relevance_score: float


class RegistryAnswer(Wire):
    query: str
    search_mode: Literal["hybrid", "lexical-only"]
    servers: list[ServerItem]
    agents: list[AgentItem]
    tools: list[ToolItem]
    total_entities: int = 0
