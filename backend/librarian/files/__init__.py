"""Files that Librarian reads or writes besides documents: its configuration."""
