#!/usr/bin/env python3
"""Checks the rules of the house over a source tree.

    house_rules.py TREE     prints each violation as file:line: text; exit status 1 if there is one

Which folder may include which, who may use which library, and what no file may contain.
"""

import pathlib
import re
import sys
from typing import Iterator, NamedTuple

SOURCE_FOLDERS = ("common", "proto", "client", "server", "bench", "tests", "examples", "cmake",
                  "tools", "deploy", "docs")
PRODUCT_FOLDERS = ("common/", "proto/", "client/", "server/")
CODE_SUFFIXES = (".h", ".cc", ".c")
TEXT_SUFFIXES = CODE_SUFFIXES + (".py", ".sh", ".cmake", ".txt", ".proto", ".md", ".in", "")
MAX_LINES = 700

# What a protocol state machine may know of common/base: nothing with a clock, a lock or any I/O.
PURE_BASE = tuple(f"common/base/{name}.h" for name in
                  ("backoff", "bytes", "check", "mutation", "prefetch", "random"))

# What every fabric shares: the contract, and what is built on words and sockets alone.
FABRIC_CONTRACT = ("common/base/", "common/layout/") + tuple(
    f"common/fabric/{name}.h" for name in
    ("atomic_agent", "chain", "chain_frames", "endpoint", "fabric", "follow", "frame_port", "frame_stream",
     "on_mapping", "remote"))

# (folder, what its files may include of the project). The first folder that fits a file counts. A
# name that ends with "/" stands for all below it.
DIRECTIONS = (
    ("common/base/", ("common/base/",)),
    ("common/layout/", ("common/base/", "common/layout/")),
    ("common/memory/", ("common/base/", "common/layout/", "common/memory/")),
    ("common/snapshot/", ("common/base/", "common/layout/", "common/snapshot/")),
    ("common/protocol/", PURE_BASE + ("common/layout/", "common/memory/", "common/protocol/",
                                      "common/fabric/chain.h")),
    ("common/fabric/shm/", FABRIC_CONTRACT + ("common/memory/", "common/fabric/shm/")),
    ("common/fabric/verbs/", FABRIC_CONTRACT + ("common/memory/", "common/fabric/verbs/")),
    ("common/fabric/tcp/", FABRIC_CONTRACT + ("common/memory/", "common/fabric/tcp/")),
    ("common/fabric/", FABRIC_CONTRACT),
    ("common/", ("common/", "proto/")),
    ("proto/", ("proto/",)),
    # What an application sees must compile where only these headers are installed.
    ("client/include/", ("dunlin/",)),
    ("client/", ("common/", "proto/", "client/", "dunlin/")),
    ("server/", ("common/", "proto/", "server/")),
    ("examples/", ("dunlin/",)),
)

# (what an include starts with, the folders or files that may have it, as a regular expression)
LIBRARY_OWNERS = (
    ("infiniband/", r"common/fabric/verbs/|bench/raw_verbs/|tests/unit/verbs/|tests/rdma/"),
    ("rdma/", r"common/fabric/verbs/|bench/raw_verbs/|tests/rdma/"),
    ("rocksdb/", r"common/snapshot/|tests/unit/snapshot/|tests/support/|bench/snapshot/|"
                 r"bench/kvbench/bindings/rocksdb\.cc$"),
    ("hiredis/", r"bench/kvbench/bindings/"),
    ("libmemcached/", r"bench/kvbench/bindings/"),
    ("libcuckoo/", r"bench/kvbench/bindings/"),
    # It costs 11 s of compile time in each file: one file a program.
    ("CLI/", r"(?:.*[/_])?(?:main|command_line)\.cc$"),
    ("gtest/", r"tests/"),
    ("gmock/", r"tests/"),
    ("benchmark/", r"bench/"),
)

# Says what devices there are, and picks none.
DEVICE_LIST = "common/fabric/verbs/device_list.h"

MAIN = re.compile(r"(?:.*[/_])?main\.cc$")

# Joined here so that this file doesn't contain them.
UNFINISHED = re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX")) + r")\b")
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root)/\w")

# Member functions of these names are fine, hence no '.' or '->' before them.
ENDS_PROCESS = re.compile(r"(?<![\w.>])(?:exit|_exit|_Exit|quick_exit|abort|terminate)\s*\(")
SLEEPS = re.compile(r"\b(?:sleep_for|sleep_until|usleep|nanosleep)\s*\(|(?<![\w.>])sleep\s*\(")

# Beside or above the call, in a test that sleeps for another reason than to wait for something.
SLEEP_REASON = re.compile(r"// sleeps to \w")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


class Violation(NamedTuple):
    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def fits(name: str, allowed: tuple) -> bool:
    return any(name == each or (each.endswith("/") and name.startswith(each)) for each in allowed)


def strip_comments_and_strings(code: str) -> str:
    """Blanks comments and literals, and keeps the line structure."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
        re.DOTALL)
    # A digit separator (1'000) isn't a literal.
    code = re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "", code)
    return pattern.sub(lambda match: "\n" * match.group(0).count("\n") or " ", code)


def check_directions(path: str, line: int, quote: str, name: str) -> Iterator[Violation]:
    in_project = name.startswith(PRODUCT_FOLDERS + ("dunlin/", "tests/", "bench/"))
    if quote == '"' and not in_project and "/" not in name:
        yield Violation(path, line, f'"{name}": includes start at the project\'s root')
    for folder, allowed in DIRECTIONS:
        if not path.startswith(folder):
            continue
        if in_project and not fits(name, allowed):
            yield Violation(path, line, f"{folder} must not include {name}; "
                                        f"it may include {', '.join(allowed)}")
        return


def check_fabric_choice(path: str, line: int, name: str) -> Iterator[Violation]:
    """Only a main or a factory knows which fabrics there are."""
    match = re.match(r"(common/fabric/(?:shm|verbs|tcp)/)", name)
    if name == DEVICE_LIST:
        return
    if not match or not path.startswith(PRODUCT_FOLDERS) or path.startswith(match.group(1)):
        return
    if not (MAIN.match(path) or re.match(r".*_factory\.(?:h|cc)$", path)):
        yield Violation(path, line, f"{name}: only a main or a *_factory file picks a fabric")


def check_owners(path: str, line: int, name: str) -> Iterator[Violation]:
    for prefix, owners in LIBRARY_OWNERS:
        if name.startswith(prefix) and not re.match(owners, path):
            yield Violation(path, line, f"<{name}> may only be included in {owners}")


def check_includes(path: str, text: str) -> Iterator[Violation]:
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, name = match.groups()
        yield from check_directions(path, number, quote, name)
        yield from check_fabric_choice(path, number, name)
        yield from check_owners(path, number, name)


def check_calls(path: str, text: str) -> Iterator[Violation]:
    if MAIN.match(path) or path.startswith(("common/base/check.", "common/base/clock.")):
        return
    in_test = path.startswith("tests/")
    with_comments = text.splitlines()
    for number, line in enumerate(strip_comments_and_strings(text).splitlines(), 1):
        # A test's forked child has to leave by _exit().
        if not in_test and ENDS_PROCESS.search(line):
            yield Violation(path, number, "ends the process; only mains and CHECK may")
        if SLEEPS.search(line):
            beside_and_above = with_comments[max(number - 2, 0):number]
            if in_test and any(SLEEP_REASON.search(each) for each in beside_and_above):
                continue
            yield Violation(path, number, "sleeps; wait for the event itself, or use the clock (in "
                                          "a test that measures: state why, '// sleeps to ...')")


def check_header(path: str, text: str) -> Iterator[Violation]:
    # The C interface is also for compilers that don't know the pragma.
    if "#pragma once" not in text and "#ifndef" not in text:
        yield Violation(path, 1, "no #pragma once")
    for number, line in enumerate(strip_comments_and_strings(text).splitlines(), 1):
        if re.search(r"\busing\s+namespace\b", line):
            yield Violation(path, number, "using namespace in a header")


def check_text(path: str, text: str) -> Iterator[Violation]:
    lines = text.splitlines()
    if len(lines) > MAX_LINES:
        yield Violation(path, len(lines), f"{len(lines)} lines; the limit is {MAX_LINES}")
    for number, line in enumerate(lines, 1):
        if UNFINISHED.search(line):
            yield Violation(path, number, "unfinished work is marked; finish it or drop it")
        if MACHINE_PATH.search(line):
            yield Violation(path, number, "a path of one particular machine")


def check_file(path: str, text: str) -> Iterator[Violation]:
    yield from check_text(path, text)
    if path.endswith(CODE_SUFFIXES):
        yield from check_includes(path, text)
        yield from check_calls(path, text)
    if path.endswith(".h"):
        yield from check_header(path, text)


def source_files(root: pathlib.Path) -> Iterator[pathlib.Path]:
    for folder in SOURCE_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and path.suffix in TEXT_SUFFIXES and "corpus" not in path.parts:
                yield path
    yield from (path for path in sorted(root.glob("*")) if path.is_file() and
                path.suffix in TEXT_SUFFIXES)


def check_tree(root: pathlib.Path) -> tuple[int, list[Violation]]:
    """The number of files read, and what is wrong with them."""
    count = 0
    violations = []
    for path in source_files(root):
        count += 1
        text = path.read_text(encoding="utf-8", errors="replace")
        violations.extend(check_file(path.relative_to(root).as_posix(), text))
    return count, violations


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    count, violations = check_tree(pathlib.Path(sys.argv[1]))
    for violation in violations:
        print(violation)
    print(f"{count} files, {len(violations)} violations")
    if count == 0:
        print("no files found: is this the project's root?", file=sys.stderr)
    return 1 if violations or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
