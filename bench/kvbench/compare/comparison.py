"""The order of a comparison: servers for each size of values, and the stores in turns on each cell."""

import collections
import itertools
import json
import os
import statistics
import tempfile
import time
import typing

from . import client, figures, progress, servers, stores

IDLE_SECONDS = 2
TRIES = 3  # of a run during which the machine stood still
STRIKES = 2  # failed runs in succession, behind which a store is left out


class CannotMeasure(Exception):
    pass


class Cell(typing.NamedTuple):
    """What the stores are compared on."""
    value_bytes: int
    placement: str
    batch: int
    workload: str


class Comparison:
    """`chosen`: names of stores. Calls `say` with what a reader is to see."""

    def __init__(self, options, kvbench, journal, chosen, dunlin_server, say):
        self.options = options
        self.kvbench = kvbench
        self.journal = journal
        self.chosen = [stores.STORES[name] for name in chosen]
        self.dunlin_server = dunlin_server
        self.say = say
        self.progress = progress.Progress(options.seconds, options.records)
        self.running = {}  # by the server's name
        self.out = {}  # why a store is left out of what is left of these servers' time
        self.strikes = collections.Counter()
        self.idle_shares = {}
        self.record_bytes = {}  # by the server's name
        self.troubles = []

    # --- what there is to do

    def cells(self, value_bytes):
        options = self.options
        return [Cell(value_bytes, *rest) for rest in
                itertools.product(options.placement, options.batch, options.workloads)]

    def round_keys(self, cell, turn):
        return [(*cell, turn, store.name) for store in self.chosen]

    def forget_cut_rounds(self):
        """A round that was cut off is made again as a whole: its ratios are of one time."""
        cut = []
        for value_bytes in self.options.values:
            for cell in self.cells(value_bytes):
                for turn in range(self.options.rounds):
                    keys = self.round_keys(cell, turn)
                    if not all(key in self.journal.runs for key in keys):
                        cut += [key for key in keys if key in self.journal.runs]
        self.journal.drop(cut)

    def missing(self, cells):
        return [(cell, turn, store) for cell in cells for turn in range(self.options.rounds)
                for store in self.chosen if (*cell, turn, store.name) not in self.journal.runs]

    def left(self):
        to_do = [self.missing(self.cells(value_bytes)) for value_bytes in self.options.values]
        runs = [store for missing in to_do for _, _, store in missing if store.name not in self.out]
        unprepared = sum(1 for value_bytes, missing in zip(self.options.values, to_do)
                         if missing and value_bytes != self.prepared_for)
        return len(runs), progress.words(self.progress.left(runs, unprepared))

    # --- doing it

    prepared_for = None

    def run(self):
        self.forget_cut_rounds()
        runs, time_left = self.left()
        self.say(f"{runs} runs, about {time_left}")
        for value_bytes in self.options.values:
            cells = self.cells(value_bytes)
            if not self.missing(cells):
                self.show_all(cells)
                continue
            with tempfile.TemporaryDirectory() as folder:
                try:
                    self.prepare(folder, value_bytes)
                    self.compare_all(cells)
                finally:
                    self.stop_servers()

    def trouble(self, text):
        self.troubles.append(text)
        self.say(f"FAILED: {text}")

    def prepare(self, folder, value_bytes):
        started = time.monotonic()
        self.out, self.strikes = {}, collections.Counter()
        self.start_servers(folder, value_bytes)
        self.load(value_bytes)
        self.measure_idle(value_bytes)
        self.prepared_for = value_bytes
        self.progress.prepared(time.monotonic() - started)

    def leave_out(self, store, why):
        self.out[store.name] = why
        self.trouble(f"{store.label} is left out: {why}")

    def served(self):
        return [store for store in self.chosen if store.server and store.name not in self.out]

    def start_servers(self, folder, value_bytes):
        commands = stores.commands(str(self.dunlin_server), self.options.records, value_bytes)
        for store in self.served():
            if store.server in self.running:
                continue
            _, command, listens = commands[store.server]
            server = servers.Server(store.server, folder, command, listens)
            if store.server == "dunlin":
                self.check_huge_pages(value_bytes)
            try:
                server.start()
                self.running[store.server] = server
            except servers.CannotStart as problem:
                for each in self.served():
                    if each.server == store.server:
                        self.leave_out(each, str(problem))

    def check_huge_pages(self, value_bytes):
        needed = stores.memory_for(self.options.records, value_bytes)
        free = servers.free_huge_bytes()
        if free < needed:
            self.say(f"Dunlin's region will be on pages of 4 KiB, which costs it some speed: {needed >> 20} "
                     f"MiB of huge pages are needed, {free >> 20} are free (sysctl -w vm.nr_hugepages=N, "
                     "of 2 MiB each)")

    def stop_servers(self):
        for server in self.running.values():
            server.stop()
        self.running = {}

    def load(self, value_bytes):
        loaded = set()
        for store in self.served():
            if store.server in loaded or store.name in self.out:
                continue
            loaded.add(store.server)
            self.say(f"loading {self.options.records} records of {value_bytes} B: {store.label}")
            file = self.options.out / f"load-{store.name}-{value_bytes}.json"
            try:
                results = self.kvbench.load(store, self.running[store.server], value_bytes, file)
                problem = figures.failures(results)
                cost = results.get("cost", {})
                self.record_bytes[store.server] = figures.number(cost.get("memory_bytes_per_record"))
            except client.RunFailed as failed:
                problem = str(failed)
            if problem:
                for each in self.served():
                    if each.server == store.server:
                        self.leave_out(each, f"its records could not be loaded: {problem}")

    def measure_idle(self, value_bytes):
        """What servers do while a client is connected that calls once a second."""
        cell = Cell(value_bytes, "free", 1, "c")
        for store in self.served():
            server = self.running[store.server]
            file = self.options.out / f"idle-{store.name}-{value_bytes}.json"
            try:
                cpu, started = server.cpu_seconds(), time.monotonic()
                self.kvbench.run(store, server, cell, file,
                                 {"target": 1, "maxexecutiontime": IDLE_SECONDS})
                self.idle_shares[store.name] = (
                    server.cpu_seconds() - cpu) / (time.monotonic() - started)
            except (client.RunFailed, servers.Ended) as problem:
                self.leave_out(store, str(problem))

    def compare_all(self, cells):
        by_setting = itertools.groupby(cells, lambda cell: (cell.placement, cell.batch))
        for (placement, _), members in by_setting:
            members = list(members)
            self.place(placement)
            for cell in members:
                for turn in range(self.options.rounds):
                    self.round(cell, turn)
                runs, time_left = self.left()
                self.say(f"{figures.setting(cell)}, {cell.workload.upper()} done; {runs} runs left, "
                         f"about {time_left}")
            self.show(members)

    def place(self, placement):
        cores = os.sched_getaffinity(0)
        for name, server in self.running.items():
            try:
                server.place_on({min(cores)} if placement == "one-core" else cores)
            except servers.Ended as problem:
                for store in self.served():
                    if store.server == name:
                        self.leave_out(store, str(problem))

    def round(self, cell, turn):
        if all(key in self.journal.runs for key in self.round_keys(cell, turn)):
            return
        for store in self.chosen:
            started = time.monotonic()
            run = self.attempt(store, cell, turn)
            self.journal.add((*cell, turn, store.name), run)
            if "failed" not in run:
                self.progress.ran(store, time.monotonic() - started)

    def attempt(self, store, cell, turn):
        if store.name in self.out:
            return {"failed": self.out[store.name]}
        where = f"{store.label}, {figures.setting(cell)}, {cell.workload.upper()}"
        file = self.options.out / (f"{store.name}-{cell.workload}-{cell.value_bytes}-{cell.batch}-"
                                   f"{cell.placement}-{turn}.json")
        try:
            run = self.steady(store, cell, file, where)
        except (client.RunFailed, servers.Ended) as problem:
            self.trouble(f"{where}: {problem}")
            self.strikes[store.name] += 1
            if isinstance(problem, servers.Ended) or self.strikes[store.name] >= STRIKES:
                self.leave_out(store, "too many of its runs failed")
            return {"failed": str(problem)}
        self.strikes[store.name] = 0
        if run["failures"]:
            self.trouble(f"{where}: {run['failures']}")
        return run

    def steady(self, store, cell, file, where):
        """A run during which the machine did not stand still, if there is one."""
        for _ in range(TRIES):
            run = self.once(store, cell, file)
            if run["seconds"] < 1.2 * self.options.seconds + 0.5:
                break
            self.say(f"{where}: the machine stood still for "
                     f"{run['seconds'] - self.options.seconds:.0f} s")
        return run

    def once(self, store, cell, file):
        server = self.running.get(store.server)
        cpu = server.cpu_seconds() if server else 0
        started, busy, children = time.monotonic(), servers.busy_seconds(), os.times()
        more = {"maxexecutiontime": self.options.seconds}
        if self.record_bytes.get(store.server):
            more["kvbench.recordbytes"] = self.record_bytes[store.server]
        results = self.kvbench.run(store, server, cell, file, more)
        seconds, busy = time.monotonic() - started, servers.busy_seconds() - busy
        now = os.times()
        used = server.cpu_seconds() - cpu if server else 0
        ours = used + now.children_user + now.children_system - (
            children.children_user + children.children_system)
        return {"file": file.name,
                "rate": figures.number(results.get("operations_per_second")),
                "seconds": figures.number(results.get("seconds")),
                "p50": figures.percentile(results, 50), "p99": figures.percentile(results, 99),
                "server_share": used / seconds - self.idle_shares[store.name] if server else None,
                "others_share": max(0, busy - ours) / seconds,
                "failures": figures.failures(results)}

    # --- telling it

    def runs_of(self, cell):
        """By store: its runs by their rounds; none of those that failed."""
        found = {}
        for store in self.chosen:
            keys = ((turn, (*cell, turn, store.name)) for turn in range(self.options.rounds))
            found[store.name] = {turn: self.journal.runs[key] for turn, key in keys
                                 if "failed" not in self.journal.runs.get(key, {"failed": ""})}
        return found

    def show_all(self, cells):
        for _, members in itertools.groupby(cells, lambda cell: (cell.placement, cell.batch)):
            self.show(list(members))

    def show(self, cells):
        rows, others = [], []
        for cell in cells:
            runs = self.runs_of(cell)
            rows += figures.rows_of(cell.workload.upper(),
                                    [(store.name, store.label) for store in self.chosen],
                                    self.options.baseline, runs)
            others += [run["others_share"] for each in runs.values() for run in each.values()]
        self.say(f"\n{figures.setting(cells[0])}\n{figures.table(rows, figures.HEADER)}")
        if others:
            self.say(f"Beside them other processes took {max(others):.2f} of a core at most, "
                     f"{statistics.median(others):.2f} in the middle.\n")

    def write(self):
        """What there is, of a comparison that was ended as well. None: nothing was measured."""
        folder = self.options.out
        cells, files = [], []
        for value_bytes in self.options.values:
            for cell in self.cells(value_bytes):
                for name, runs in self.runs_of(cell).items():
                    files += [folder / run["file"] for run in runs.values()]
                    cells.append({"store": name, **cell._asdict(), "runs": list(runs.values())})
        (folder / "summary.json").write_text(
            json.dumps({"idle_shares": self.idle_shares, "cells": cells}, indent=1),
            encoding="utf-8")
        if not files:
            return None
        page = folder / "report.html"
        self.kvbench.report(files, page, stores.STORES[self.options.baseline].label)
        return page
