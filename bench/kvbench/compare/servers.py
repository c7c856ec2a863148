"""Servers on this machine for the time of a comparison: each in a temporary folder, on a Unix socket
there and on a loopback port."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

READY_SECONDS = 30
STARTS = 5


class CannotStart(Exception):
    pass


class Ended(Exception):
    """A server that was running isn't any more."""


def free_port():
    """Free at this moment, so a start may still fail because of it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def accepts(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(address)
            return True
        except OSError:
            return False


class Server:
    """One process. `command(socket_path, port)` gives its command line; a server that listens only on
    one of them leaves the other out of `listens`."""

    END_SECONDS = 20  # before a server that was told to end is killed

    def __init__(self, name, folder, command, listens=("unix", "tcp")):
        self.name = name
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir()
        self.socket = str(self.folder / "server.sock")
        self.command = command
        self.listens = listens
        self.port = 0
        self.process = None

    def start(self):
        for attempt in range(STARTS):
            self.port = free_port()
            with open(self.folder / "log", "ab") as log:
                self.process = subprocess.Popen(
                    self.command(self.socket, self.port), stdin=subprocess.DEVNULL, stdout=log,
                    stderr=log, cwd=self.folder)
            if self.wait_ready():
                return
            self.stop()
        raise CannotStart(f"{self.name} does not start: {self.log_end()}")

    def wait_ready(self):
        give_up = time.monotonic() + READY_SECONDS
        while time.monotonic() < give_up:
            ready = [accepts(socket.AF_UNIX, self.socket) if kind == "unix" else
                     accepts(socket.AF_INET, ("127.0.0.1", self.port)) for kind in self.listens]
            if all(ready):
                return True
            try:
                self.process.wait(0.02)
                return False
            except subprocess.TimeoutExpired:
                pass
        return False

    def log_end(self):
        return (self.folder / "log").read_text(errors="replace")[-2000:]

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(self.END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def of_each_task(self, act):
        """What `act(task)` returns for those that don't end meanwhile."""
        if self.process.poll() is not None:
            raise Ended(f"{self.name} ended with {self.process.returncode}: {self.log_end()}")
        found = []
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            try:
                found.append(act(int(task)))
            except (FileNotFoundError, ProcessLookupError):
                pass
        return found

    def place_on(self, cores):
        self.of_each_task(lambda task: os.sched_setaffinity(task, cores))

    def cpu_seconds(self):
        """User and system time of all its threads, to the nanosecond where the kernel knows."""
        def of_one(task):
            path = pathlib.Path(f"/proc/{self.process.pid}/task/{task}/schedstat")
            return int(path.read_text(encoding="ascii").split()[0])
        return sum(self.of_each_task(of_one)) / 1e9

    def memory_bytes(self):
        """What it has to itself, resident; memory that it shares with clients is not in it."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) * 1024
        return 0


def free_huge_bytes():
    """What is left of the 2 MiB pages that the machine has set aside."""
    with open("/proc/meminfo", encoding="ascii") as meminfo:
        found = dict(line.split(":", 1) for line in meminfo)
    return int(found.get("HugePages_Free", "0").split()[0]) * 2**21


def busy_seconds():
    """CPU time that all processes of the machine together have used."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _, _, irq, softirq = map(int, stat.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def installed(program):
    return shutil.which(program) is not None


def dunlin(binary, memory_bytes, records):
    mib = memory_bytes // 2**20 + 1
    return lambda path, port: [binary, "--socket", path, "--tcp", f"127.0.0.1:{port}",
                               "--memory", f"{mib}MiB", "--records", str(records)]


def redis():
    return lambda path, port: ["redis-server", "--bind", "127.0.0.1", "--port", str(port),
                               "--unixsocket", path, "--save", "", "--appendonly", "no"]


def memcached_unix(memory_bytes):
    return lambda path, port: ["memcached", "-u", "root", "-s", path, "-m",
                               str(memory_bytes // 2**20 + 64)]


def memcached_tcp(memory_bytes):
    return lambda path, port: ["memcached", "-u", "root", "-l", "127.0.0.1", "-p", str(port), "-m",
                               str(memory_bytes // 2**20 + 64)]
