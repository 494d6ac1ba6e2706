"""Words, languages and characters: analysis shared by indexing and searching."""
