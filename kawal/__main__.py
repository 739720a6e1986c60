"""The program `kawal`: it puts Kawal's own packages first on the import path and runs the command line.

An installation holds them in `_packages` beside this file, where no other program looks: `broker`, `views`
or `console` of another project, in the same environment or on PYTHONPATH, neither hide them nor are hidden.
In a checkout they are beside this folder.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def packages_folder(here: Path = HERE) -> str:
    """Return the folder of Kawal's own packages."""
    installed = here / "_packages"
    return str(installed if installed.is_dir() else here.parent)


def main() -> int:
    """Run `kawal` with the arguments of this process and return its exit code."""
    ours = packages_folder()
    sys.path[:] = [ours, *(entry for entry in sys.path if entry != ours)]
    prepare_streams()
    try:
        from console.cli import main as run

        return run()
    except KeyboardInterrupt:  # while it was starting
        return 128 + signal.SIGINT


def prepare_streams() -> None:
    """See to it that the three standard streams can be used, whatever they were started with.

    One that is closed becomes /dev/null: a socket would get its number, and what is printed would go there.
    A character that the terminal cannot show is printed as an escape.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
        elif mode == "w":
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
