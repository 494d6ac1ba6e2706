"""Generated files: what is proved here.

* `.env.example`, the shipped `config.json` and the settings page say what the fields say.
* The shipped config.json changes no default, and every variable in `.env.example` has a meaning.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import settings_pages as reference

from librarian.files.config_files import REPOSITORY
from librarian.settings import DERIVED_VARIABLES, SETTINGS, Settings

CONTRACT_VARIABLES = """
DOCS_ROOT_PATH INDEX_PATH CONFIG_FILE MCP_HOST MCP_PORT LOG_LEVEL SEARCH_MODE ENABLE_EMBEDDINGS EMBEDDING_MODEL
MCP_TOOLSETS MCP_AUTH_TOKEN USE_HYBRID_SEARCH USE_RERANKING SIMILARITY_THRESHOLD VECTOR_MATCH_COUNT VECTOR_WEIGHT
TEXT_WEIGHT HYBRID_CANDIDATE_COUNT RERANKING_CANDIDATE_MULTIPLIER CROSSENCODER_MODEL CROSSENCODER_MAX_LENGTH
VECTOR_SEARCH_EF_SEARCH JEDI_EMBEDDING_MODEL AGENT_USE_LLM LLM_PROVIDER LLM_MODEL OPENAI_API_KEY OPENAI_BASE_URL
OLLAMA_URL DATABASE_URL QDRANT_URL AGENT_PORT MCP_SSE_URL MCP_ALLOWED_HOSTS DATABASE_URL_FILE MCP_AUTH_TOKEN_FILE
OPENAI_API_KEY_FILE QDRANT_URL_FILE DOCS_LAYOUT
"""


@pytest.mark.parametrize("name", sorted(reference.files()))
def test_a_generated_file_says_what_the_fields_say(name: str) -> None:
    written = (REPOSITORY / name).read_text("utf-8")
    assert written == reference.files()[name], "run python scripts/settings_pages.py"


def test_the_shipped_file_changes_no_default(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(reference.shipped_config())
    shipped = Settings.load(tmp_path / "config.json", environ={})
    (tmp_path / "config.json").write_text("{}")
    default = Settings.load(tmp_path / "config.json", environ={})
    assert shipped.model_dump() == default.model_dump()
    assert shipped.notices == ()


def test_every_variable_is_in_the_example_and_does_what_it_says(tmp_path: Path) -> None:
    names = [
        line[1:].split("=")[0] for line in reference.env_example().splitlines() if line.startswith("#") and "=" in line
    ]
    names = [name for name in names if " " not in name]
    assert sorted(names) == sorted(CONTRACT_VARIABLES.split())
    assert set(names) == {each.env for each in SETTINGS.values() if each.env} | set(DERIVED_VARIABLES)
