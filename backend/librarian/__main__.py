"""`python -m librarian` is the command line."""

from librarian.cli import main

if __name__ == "__main__":
    main()
