"""`python -m librarian` and the `librarian` command: quiet also where Ctrl-C comes before all is imported."""

import sys


def main() -> None:
    """Run `librarian.cli.main`; 130 for Ctrl-C, as shells have it."""
    try:
        from .cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
