"""What a question and a changed file cost as a library grows, and what the disk holds after many updates."""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from librarian.bootstrap import build
from librarian.library import Librarian
from librarian.settings import Settings
from speed_library import write_documents
from speed_parts import RawParts, processor_ms, questions_of
from speed_report import Report

SIZES = (1_000, 5_000, 25_000, 100_000, 200_000)  #: passages, about
Points = list[tuple[int, float]]


def growth(source: Path, folder: Path, plot: Path | None, report: Report, sizes: Sequence[int] = SIZES) -> None:
    """One library that grows: milliseconds of processor time a keyword question, and until a changed file is found."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(
        '{"docs": {"root_path": "docs", "watch_for_changes": false}, "embeddings": {"enabled": false}}'
    )
    library = Librarian(build(Settings.load(folder / "config.json")))
    asked: Points = []
    changed: Points = []
    per_byte = 0.0016  # passages; corrected by every step
    try:
        for size in sizes:
            written = write_documents(source, folder / "docs", 99, most=int(size / per_byte))
            library.refresh(wait=False)
            passages = library.status().chunks
            per_byte = passages / written
            questions = questions_of(library, 25)
            cost = processor_ms({"own": RawParts(library).asking("keyword")}, questions)["own"]
            asked.append((passages, cost))
            changed.append((passages, change(library, folder / "docs")))
            print(f"({passages:,} passages: {asked[-1][1]:.1f}, {changed[-1][1]:.1f} ms)", file=sys.stderr)
    finally:
        library.close()
    for what, points in (
        ("keyword question, ms of processor time", asked),
        ("changed file to searchable, ms", changed),
    ):
        (few, low), (many, high) = points[0], points[-1]
        steps = ", ".join(f"{passages:,}: {cost:.1f}" for passages, cost in points)
        times = many / few
        report.add(f"{what}, by passages", steps, f"{times:.0f}× the passages", "sub-linear", high / low < times)
    if plot is not None:
        plot.write_text(drawn({"a question by keyword": asked, "a changed file": changed}), "utf-8")


def change(library: Librarian, root: Path) -> float:
    """Median ms until a changed page is found by its words, read by a child that runs already."""
    page = next(path for path in sorted(root.iterdir()) if path.is_dir()) / "general" / "speed-probe.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    times = []
    for number in range(6):
        page.write_text(f"# Probe\n\nThe word zorkmid{number} stands here.\n")
        started = time.perf_counter()
        library._parts.indexing.refresh([str(page)])
        times.append((time.perf_counter() - started) * 1000)
    page.unlink()
    library._parts.indexing.refresh([str(page)])
    return statistics.median(times[1:])


def updates(source: Path, folder: Path, count: int, report: Report) -> None:
    """What the index folder holds after so many changes of one page each, beside a fresh index of the same pages."""
    folder.mkdir(parents=True)
    config = folder / "config.json"
    config.write_text('{"docs": {"root_path": "docs", "watch_for_changes": false}, "embeddings": {"enabled": false}}')
    write_documents(source, folder / "docs", 1, most=2_000_000)
    pages = sorted(path for path in (folder / "docs").rglob("*.md"))
    with Librarian(build(Settings.load(config))) as library:
        library.refresh(wait=False)
        fresh = held(folder / ".librarian")
        started = time.perf_counter()
        for number in range(count):
            page = pages[number % len(pages)]
            page.write_text(f"{page.read_text('utf-8').split('<!-- n -->')[0]}<!-- n -->\n\nupdate {number}\n", "utf-8")
            library._parts.indexing.refresh([str(page)])
        took = time.perf_counter() - started
    after = held(folder / ".librarian")
    report.add(
        f"disk after {count:,} updates of one page, beside a fresh index",
        f"{after / fresh:.2f}×",
        f"{fresh / 1e6:.1f} MB fresh; {took / count * 1000:.0f} ms an update",
        "1.5×",
        after <= 1.5 * fresh,
    )


def held(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def drawn(curves: dict[str, Points], width: int = 640, height: int = 360) -> str:
    """An SVG of curves over logarithmic axes."""
    places = [point for points in curves.values() for point in points]
    left, right = math.log10(min(p for p, _ in places)), math.log10(max(p for p, _ in places))
    low, high = math.floor(math.log10(min(c for _, c in places))), math.ceil(math.log10(max(c for _, c in places)))

    def at(passages: float, cost: float) -> str:
        x = 60 + (math.log10(passages) - left) / ((right - left) or 1) * (width - 200)
        y = height - 40 - (math.log10(cost) - low) / ((high - low) or 1) * (height - 70)
        return f"{x:.1f},{y:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        '     font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        '<text x="60" y="18">Milliseconds by passages, both axes logarithmic</text>',
    ]
    for power in range(low, high + 1):
        y = at(10**left, 10**power).split(",")[1]
        parts += [
            f'<line x1="60" x2="{width - 140}" y1="{y}" y2="{y}" stroke="#ddd"/>',
            f'<text x="54" y="{float(y) + 4:.1f}" text-anchor="end">{10.0**power:g}</text>',
        ]
    for number, (name, points) in enumerate(curves.items()):
        colour = ("#1f5fa8", "#b5491d")[number % 2]
        line = " ".join(at(*point) for point in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        x, y = at(*points[-1]).split(",")
        parts.append(f'<text x="{float(x) + 8:.1f}" y="{float(y) + 4:.1f}" fill="{colour}">{name}</text>')
    for passages, _ in next(iter(curves.values())):
        x = at(passages, 10**low).split(",")[0]
        parts.append(f'<text x="{x}" y="{height - 18}" text-anchor="middle">{passages:,}</text>')
    return "\n".join([*parts, "</svg>", ""])
