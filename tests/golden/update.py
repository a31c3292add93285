"""`python -m tests.golden.update [NAME ...]`: write the `.case` files anew for the Python that runs; then read the difference."""

import sys

from tests.golden.stages import CASES, renewed


def main(names: list[str]) -> int:
    """Write the files with these names, or all."""
    for path in CASES:
        if not names or path.stem in names:
            path.write_text(renewed(path))
            print(path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
