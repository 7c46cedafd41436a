"""The command line: `spnc`, and `python -m spnc`.

Signals are listened to before anything else is imported, so that Ctrl-C in the first moments is
not met by a traceback.
"""

from __future__ import annotations

from spnc.common import signals


def main() -> int:
    """Run one command line. Return the exit code."""
    signals.listen()
    from spnc import cli

    return cli.main()


if __name__ == "__main__":
    raise SystemExit(main())
