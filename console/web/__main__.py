"""The console as a gateway starts it: `python -m console.web FLAGS`, with a hand-over on standard input.

The flags are those of the gateway: by them the console reads the same configuration.
"""

from __future__ import annotations

import logging
import sys

from console.errors import FAILED, OK, CommandError
from console.web.start import serve_handed_over


def main() -> int:
    """Serve until the end of standard input, or until idle; return the exit code."""
    try:
        serve_handed_over(tuple(sys.argv[1:]))
    except CommandError as error:
        print(f"kawal: {error}", file=sys.stderr)
        return FAILED
    except Exception:
        logging.getLogger("kawal.console").exception("internal error: the web console ends")
        return FAILED
    return OK


if __name__ == "__main__":
    sys.exit(main())
