"""Run the packaged program: `dragoman` and `python -m dragoman`."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Replace this process by the program."""
    program = Path(__file__).parent / "_native" / "bin" / "dragoman"
    os.execv(program, ["dragoman", *sys.argv[1:]])


if __name__ == "__main__":
    main()
