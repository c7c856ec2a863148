#!/usr/bin/env python3
"""Checks that clang-format would change no file.

    check_format.py CLANG_FORMAT TREE

To format everything, from the project's root: tools/format
"""

import pathlib
import subprocess
import sys

FOLDERS = ("common", "client", "server", "bench", "tests", "examples")
SUFFIXES = (".h", ".cc", ".c")


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    clang_format, root = sys.argv[1], pathlib.Path(sys.argv[2])
    files = [str(path) for folder in FOLDERS for path in sorted((root / folder).rglob("*"))
             if path.is_file() and path.suffix in SUFFIXES]
    if not files:
        print("no files found: is this the project's root?", file=sys.stderr)
        return 1
    result = subprocess.run([clang_format, "--dry-run", "-Werror", *files], check=False)
    print(f"{len(files)} files checked")
    return 1 if result.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
