"""``python -m forebay``: the program, the same code as the binary."""

import sys

from forebay import _native


def main() -> None:
    """Runs the program with the words of this process."""
    sys.exit(_native.main(sys.argv[1:]))


if __name__ == "__main__":
    main()
