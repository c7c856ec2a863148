"""The stores that are compared: kvbench's names for them, their servers, and how they are reached."""

import dataclasses

from . import servers

KEY_BYTES = 16
# What a session of Dunlin may take to remember where keys are: a million of them.
CACHE = "64MiB"


@dataclasses.dataclass
class Store:
    name: str
    label: str
    binding: str
    server: str = ""  # empty: in kvbench's own process
    properties: callable = lambda server: {}


STORES = {store.name: store for store in (
    Store("dunlin-shm", "Dunlin, shared memory", "dunlin", "dunlin",
          lambda server: {"dunlin.target": f"shm://{server.socket}", "dunlin.cache": CACHE}),
    Store("dunlin-tcp", "Dunlin, TCP", "dunlin", "dunlin",
          lambda server: {"dunlin.target": f"tcp://127.0.0.1:{server.port}",
                          "dunlin.pid": server.process.pid, "dunlin.cache": CACHE}),
    Store("redis-unix", "redis, Unix socket", "redis", "redis",
          lambda server: {"redis.socket": server.socket}),
    Store("redis-tcp", "redis, TCP", "redis", "redis",
          lambda server: {"redis.port": server.port}),
    Store("memcached-unix", "memcached, Unix socket", "memcached", "memcached-unix",
          lambda server: {"memcached.socket": server.socket, "memcached.client": "direct"}),
    Store("memcached-tcp", "memcached, TCP", "memcached", "memcached-tcp",
          lambda server: {"memcached.hosts": f"127.0.0.1:{server.port}",
                          "memcached.client": "direct"}),
    Store("libmemcached-unix", "memcached by libmemcached, Unix socket", "memcached",
          "memcached-unix", lambda server: {"memcached.socket": server.socket}),
    Store("libmemcached-tcp", "memcached by libmemcached, TCP", "memcached", "memcached-tcp",
          lambda server: {"memcached.hosts": f"127.0.0.1:{server.port}"}),
    Store("libcuckoo", "libcuckoo, in process", "libcuckoo"),
    Store("sharded-map", "absl::flat_hash_map in shards, in process", "sharded_map"),
    Store("rocksdb", "RocksDB, in process", "rocksdb"),
)}
DEFAULT_STORES = ("dunlin-shm", "dunlin-tcp", "redis-unix", "redis-tcp", "memcached-unix",
                  "memcached-tcp", "libcuckoo", "sharded-map", "rocksdb")


def memory_for(records, value_bytes):
    """Generous: nobody is to evict or to refuse anything. Twice what the records take, and room for
    what Dunlin keeps of two million replaced ones until their grace period is over."""
    record = KEY_BYTES + value_bytes + 64
    return 2 * records * record + 2_000_000 * record + 2**28


def commands(dunlin_server, records, value_bytes):
    """How each server is started, and where it listens."""
    memory = memory_for(records, value_bytes)
    return {
        "dunlin": (dunlin_server, servers.dunlin(dunlin_server, memory, 2 * records),
                   ("unix", "tcp")),
        "redis": ("redis-server", servers.redis(), ("unix", "tcp")),
        "memcached-unix": ("memcached", servers.memcached_unix(memory), ("unix",)),
        "memcached-tcp": ("memcached", servers.memcached_tcp(memory), ("tcp",)),
    }
