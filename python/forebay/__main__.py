"""``python -m forebay``: the command-line program, with the same code as the binary."""

import sys

from forebay import _native


def main() -> None:
    """Runs the program with the arguments of this process."""
    sys.exit(_native.main(sys.argv[1:]))


if __name__ == "__main__":
    main()
