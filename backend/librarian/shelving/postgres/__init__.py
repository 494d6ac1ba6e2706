"""The shelves in PostgreSQL: catalog, keyword index, archive and vectors, for libraries that several servers share."""
