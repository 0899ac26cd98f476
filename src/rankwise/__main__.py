"""``python -m rankwise``: the command line."""

from rankwise.cli.main import main

if __name__ == "__main__":
    main()
