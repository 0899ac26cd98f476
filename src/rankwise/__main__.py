"""``python -m rankwise`` and the script ``rankwise``: the command line, if typer is installed."""

from rankwise._packages import explain_missing


def main() -> None:
    """Run the command line; without typer, say what to install."""
    try:
        from rankwise.cli.main import main as run
    except ImportError as error:
        raise SystemExit(f"error: {explain_missing(error, 'the command line')}") from error
    run()


if __name__ == "__main__":
    main()
