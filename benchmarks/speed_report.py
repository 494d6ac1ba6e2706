"""The table of a run, printed as it comes; and the machine that it ran on."""

from __future__ import annotations

import os
import platform
import time
from importlib import metadata
from pathlib import Path

PACKAGES = ("tantivy", "onnxruntime", "chromadb", "mcp", "numpy")


class Report:
    """Rows of a Markdown table."""

    def __init__(self) -> None:
        print("| what | Librarian | beside it, in the same run | |\n|---|---|---|---|")

    def add(self, what: str, own: str, beside: str = "", bound: str = "", holds: bool | None = None) -> None:
        """`bound` is what is wanted of the row; `holds` whether it was met."""
        wanted = f"{bound}: {'met' if holds else 'not met'}" if bound and holds is not None else bound
        print(f"| {what} | {own} | {beside} | {wanted} |", flush=True)


def machine() -> str:
    """Date, processor, versions and load."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if "model name" in line), platform.processor())
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    return (
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores ({model}), Python {platform.python_version()},"
        f" {versions}; load at start {os.getloadavg()[0]:.1f}"
    )
