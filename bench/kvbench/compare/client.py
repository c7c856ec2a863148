"""Runs of kvbench."""

import json
import os
import pathlib
import subprocess

OPERATIONS_FAILED = 3  # its exit status; its results say which
LOAD_BATCH = 64
PLACEMENTS = {"one-core": "client and server on one core", "free": "placed by the scheduler"}


class RunFailed(Exception):
    pass


class Client:
    """`options`: records, threads and seconds of each run."""

    def __init__(self, program, workloads, options):
        self.program = program
        self.workloads = workloads
        self.options = options

    def bindings(self):
        return {line.split()[0] for line in self.call(["bindings"]).splitlines() if line.strip()}

    def report(self, files, page, baseline):
        self.call(["report", *files, "-o", page, "-title", "Dunlin beside other stores", "-baseline",
                   baseline])

    def load(self, store, server, value_bytes, file):
        return self.phase("load", store, server, "c", value_bytes, file,
                          {"kvbench.batch": LOAD_BATCH}, "free")

    def run(self, store, server, cell, file, more=None):
        properties = {"kvbench.batch": cell.batch, "kvbench.remark": PLACEMENTS[cell.placement]}
        if not store.server:
            properties["kvbench.load"] = "true"
        return self.phase("run", store, server, cell.workload, cell.value_bytes, file,
                          properties | (more or {}), cell.placement)

    def phase(self, phase, store, server, workload, value_bytes, file, more, placement):
        options = self.options
        properties = {
            "recordcount": options.records, "operationcount": 0, "insertorder": "ordered",
            "zeropadding": 12, "fieldcount": 1, "fieldlength": value_bytes,
            "requestdistribution": "latest" if workload == "d" else "zipfian",
            "kvbench.interval": interval(options.seconds), "kvbench.results": file}
        properties |= store.properties(server) | more
        words = [phase, store.binding, "-threads", options.threads, "-l", store.label,
                 "-P", self.workloads / f"workload{workload}"]
        for name, value in properties.items():
            words += ["-p", f"{name}={value}"]
        pathlib.Path(file).unlink(missing_ok=True)
        self.call(words, placement)
        try:
            return json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
        except (OSError, ValueError) as problem:
            raise RunFailed(f"no results: {problem}") from problem

    def patience(self):
        """Seconds for a load or a run, far beyond what the slowest store takes."""
        return 60 + 5 * self.options.seconds + self.options.records / 5_000

    def call(self, words, placement="free"):
        command = [str(word) for word in (self.program, *words)]
        cores = os.sched_getaffinity(0)
        place = {min(cores)} if placement == "one-core" else cores
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, errors="replace", check=False,
                                  timeout=self.patience(),
                                  preexec_fn=lambda: os.sched_setaffinity(0, place))
        except subprocess.TimeoutExpired as problem:
            raise RunFailed(f"{' '.join(command)} did not end within {problem.timeout:.0f} s and was "
                            "killed") from problem
        if done.returncode not in (0, OPERATIONS_FAILED):
            raise RunFailed(f"{' '.join(command)} ended with {done.returncode}:\n"
                            f"{done.stdout[-1000:]}{done.stderr[-1000:]}")
        return done.stdout


def interval(seconds):
    """Ten steps or more of the time line, and none shorter than kvbench has them."""
    return max(0.1, min(1, round(seconds / 10, 2)))
