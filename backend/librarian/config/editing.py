"""Changing one value of a configuration file, comments and layout untouched."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from librarian.vocabulary.errors import SetupError
from librarian.vocabulary.whole_file import write_whole

from . import jsonc


def put_text(path: Path, section: str, name: str, value: str) -> None:
    """Writes the file with `section.name` set to the string `value`; where it can't, the file stays as it was.

    Raises SetupError where the file can't be changed safely or not be written.
    """
    target = path.resolve()  # a linked file stays a link
    try:
        write_whole(
            target, set_text(target.read_text("utf-8"), section, name, value), mode=target.stat().st_mode & 0o777
        )
    except OSError as error:
        raise SetupError(
            f"{path} can't be written: {error.strerror}.", hint=f"Set {section}.{name} to {value!r} there by hand."
        ) from error


def set_text(text: str, section: str, name: str, value: str) -> str:
    """`text` with `section.name` set to the string `value`, replaced in its place or added to its section.

    Raises SetupError where the file is written in a way that can't be changed safely.
    """
    wanted = jsonc.parse(text)
    wanted.setdefault(section, {})[name] = value
    written = f'"{name}": {json.dumps(value, ensure_ascii=False)}'
    candidates = [
        re.sub(
            rf'("{section}"\s*:\s*\{{[^{{}}]*?)"{name}"\s*:\s*(?:"[^"\n]*"|null)', _after_first(written), text, count=1
        ),
        re.sub(rf'("{section}"\s*:\s*\{{)(?=\s*[^\s}}])', _after_first(f"\n    {written},"), text, count=1),
        re.sub(rf'("{section}"\s*:\s*\{{)\s*\}}', _after_first(f" {written} }}"), text, count=1),
        re.sub(r"(\{)(?=\s*[^\s}])", _after_first(f'\n  "{section}": {{ {written} }},'), text, count=1),
        re.sub(r"(\{)\s*\}", _after_first(f'\n  "{section}": {{ {written} }}\n}}'), text, count=1),
    ]
    for candidate in candidates:
        try:
            if jsonc.parse(candidate) == wanted:
                return candidate
        except ValueError:
            continue
    raise SetupError(
        f"{section}.{name} can't be set safely in this file.", hint=f"Write {written} into {section!r} by hand."
    )


def _after_first(text: str) -> Callable[[re.Match[str]], str]:
    return lambda match: match[1] + text
