"""Dunlin's operations as chains of verbs, for keys and values of given sizes."""

import json

from fabric_model import Operation, Verb

WORD = 8
BUCKET = 128
RECORD_HEADER = 24
LARGEST_BLOCK = 32 << 10


def block_size(size):
    """The allocator's class for a record: steps of 8 bytes to 128, then eight to a doubling."""
    if size > LARGEST_BLOCK:
        raise ValueError(f"a record of {size} bytes lies in a run of pages; the model covers "
                         f"blocks, up to {LARGEST_BLOCK} bytes")
    if size <= 128:
        return max(32, -(-size // 8) * 8)
    octave = 128
    while octave * 2 < size:
        octave *= 2
    step = octave // 8
    return -(-size // step) * step


def sizes(key, value):
    record = block_size(RECORD_HEADER + key + value)
    return {"record": record, "head": RECORD_HEADER + key, "slot": WORD, "lock": WORD,
            "bucket": BUCKET}


def operation_of(text, named_sizes):
    """Of [["read record", "read slot"], ...]; a size is a name of `named_sizes` or a number."""
    def verb_of(words):
        kind, size = words.split()
        return Verb(kind, named_sizes[size] if size in named_sizes else int(size))
    return Operation(tuple(tuple(verb_of(words) for words in chain) for chain in text["chains"]),
                     tuple(verb_of(words) for words in text.get("unawaited", ())))


def load_costs(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def parts_of_mix(mix, cached):
    """(share, row of the table) of YCSB's operations, a share `cached` of which finds its location
    known."""
    rows = {
        "read": [(cached, ("get_known",)), (1 - cached, ("get_cold",))],
        "update": [(cached, ("put_known",)), (1 - cached, ("put_cold",))],
        "insert": [(1.0, ("insert",))],
        # The update's location is known from the read.
        "rmw": [(cached, ("get_known", "put_known")), (1 - cached, ("get_cold", "put_known"))],
        "delete": [(cached, ("remove_known",)), (1 - cached, ("remove_cold",))],
    }
    found = []
    for name, share in mix.items():
        if name not in rows:
            raise ValueError(f"no operation {name}; there are {', '.join(rows)}")
        found.extend((share * part, names) for part, names in rows[name] if share * part > 0)
    return found
