"""What bench/compare makes of runs: spreads, ratios, tables; and how it drives servers."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench/kvbench"))

# pylint: disable=wrong-import-position
from compare import client, figures, journal, progress, servers, stores

# Listens as it is told, until it is ended; "stubborn" ignores SIGTERM.
LISTENER = """
import signal, socket, sys, time
if "stubborn" in sys.argv: signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "dies" in sys.argv: sys.exit("no room for me")
unix = socket.socket(socket.AF_UNIX); unix.bind(sys.argv[1]); unix.listen()
tcp = socket.socket(); tcp.bind(("127.0.0.1", int(sys.argv[2]))); tcp.listen()
signal.pause()
while True: signal.pause()
"""

# In kvbench's place: notes what it was told, and leaves results of one kind for each store.
KVBENCH = """#!{python}
import json, pathlib, sys
words = sys.argv[1:]
with open({log!r}, "a") as log: log.write(json.dumps(words) + "\\n")
if words == ["bindings"]: print("libcuckoo  a map\\nsharded_map  another\\nredis  a server"); sys.exit()
if words[0] == "report": pathlib.Path(words[words.index("-o") + 1]).write_text("page"); sys.exit()
told = dict(word.split("=", 1) for flag, word in zip(words, words[1:]) if flag == "-p")
if words[1] in {broken}: sys.exit("no such map")
rate = {{"libcuckoo": 4e6, "sharded_map": 2e6, "redis": 1e5}}[words[1]]
metric = {{"name": "READ", "returns": {returns}, "latency": {{"percentiles": [
    {{"percent": 50, "nanos": 1e9 / rate}}, {{"percent": 99, "nanos": 2e9 / rate}}]}}}}
seen = pathlib.Path(told["kvbench.results"] + ".seen")
stood_still = not seen.exists() and {stands_still}
seen.touch()
results = {{"operations_per_second": rate, "seconds": 30 if stood_still else 1, "metrics": [metric]}}
pathlib.Path(told["kvbench.results"]).write_text(json.dumps(results))
sys.exit({status})
"""


def listener(*more):
    return lambda path, port: [sys.executable, "-c", LISTENER, path, str(port), *more]


def run_of(rate, p50=1000, p99=2000, server_share=0.5):
    return {"rate": rate, "p50": p50, "p99": p99, "server_share": server_share}


class FiguresTest(unittest.TestCase):
    def test_ratio_is_taken_within_each_round(self):
        # The second round was slow for both.
        self.assertEqual(figures.ratios({0: 100, 1: 10, 2: 120}, {0: 10, 1: 1, 2: 10}), (10, 10, 12))

    def test_ratio_of_rounds_that_both_have(self):
        self.assertEqual(figures.ratios({0: 100, 2: 120}, {1: 1, 2: 10}), (12, 12, 12))
        self.assertIsNone(figures.ratios({0: 100}, {1: 1}))

    def test_spread(self):
        self.assertEqual(figures.spread([5, 1, 9, 7]), (6, 1, 9))

    def test_text_of_figures(self):
        self.assertEqual(figures.rate(1_234_567), "1.23 M/s")
        self.assertEqual(figures.rate(98_765), "98.8 k/s")
        self.assertEqual(figures.rate(12), "12 /s")
        self.assertEqual(figures.nanos(830), "830 ns")
        self.assertEqual(figures.nanos(8_100), "8.1 us")
        self.assertEqual(figures.nanos(2_000_000), "2 ms")
        self.assertEqual([figures.times(value) for value in (0.5, 9.99, 12.34, 151.2)],
                         ["0.50", "9.99", "12.3", "151"])

    def test_rows_compare_with_the_baseline(self):
        runs = {"ours": dict(enumerate([run_of(100), run_of(200), run_of(300)])),
                "theirs": dict(enumerate([run_of(10, server_share=None)] * 3))}
        rows = figures.rows_of("C", [("ours", "Ours"), ("theirs", "Theirs")], "ours", runs)
        self.assertEqual(rows[0], ["C", "Ours", "200 /s", "100 /s", "300 /s", "1 us", "2 us",
                                   "50.0 %", "", "", ""])
        self.assertEqual(rows[1][7:], ["none", "20.0", "10.0", "30.0"])
        lines = figures.table(rows, figures.HEADER).splitlines()
        self.assertEqual(len(lines), 3)
        self.assertEqual(lines[1].index("Ours"), lines[0].index("store"))

    def test_rows_without_the_baseline(self):
        rows = figures.rows_of("C", [("theirs", "Theirs")], "ours", {"theirs": {0: run_of(10)}})
        self.assertEqual(rows[0][8:], ["", "", ""])

    def test_row_of_a_store_that_failed(self):
        rows = figures.rows_of("C", [("theirs", "Theirs")], "ours", {"theirs": {}})
        self.assertEqual(rows[0][:3], ["C", "Theirs", "failed"])
        self.assertEqual(len(rows[0]), len(figures.HEADER))


class ResultsTest(unittest.TestCase):
    # As protobuf's JSON writes them: 64-bit numbers are text, zeros left out.
    RESULTS = {"metrics": [
        {"name": "READ", "returns": {"OK": "90", "NOT_FOUND": "10"}, "latency": {"percentiles": [
            {"percent": 50, "nanos": 100}, {"percent": 99, "nanos": 900}]}},
        {"name": "UPDATE", "returns": {"OK": "5", "ERROR": "0"}, "latency": {"percentiles": [
            {"percent": 50, "nanos": 300}, {"percent": 99, "nanos": 700}]}},
        {"name": "READ-FAILED", "latency": {"percentiles": [{"percent": 99, "nanos": 5000}]}}]}

    def test_percentile_is_of_what_succeeded(self):
        self.assertEqual(figures.percentile(self.RESULTS, 50), 300)
        self.assertEqual(figures.percentile(self.RESULTS, 99), 900)
        self.assertEqual(figures.percentile({}, 99), 0)

    def test_failures(self):
        self.assertEqual(figures.failures(self.RESULTS), "READ NOT_FOUND: 10")
        self.assertEqual(figures.failures({}), "")


class JournalTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_knows_what_was_written(self):
        first = journal.Journal(self.folder, {"seconds": 1})
        first.add(("c", 0, "redis"), {"rate": 5})
        first.add(("c", 1, "redis"), {"rate": 6})
        again = journal.Journal(self.folder, {"seconds": 1})
        self.assertEqual(again.runs, {("c", 0, "redis"): {"rate": 5}, ("c", 1, "redis"): {"rate": 6}})
        again.drop([("c", 0, "redis")])
        self.assertEqual(list(journal.Journal(self.folder, {"seconds": 1}).runs), [("c", 1, "redis")])

    def test_half_a_line_is_none(self):
        first = journal.Journal(self.folder, {})
        first.add(("c", 0, "redis"), {"rate": 5})
        with open(self.folder / "runs.jsonl", "a", encoding="utf-8") as file:
            file.write('[["c", 1, "redis"], {"ra')
        again = journal.Journal(self.folder, {})
        self.assertEqual(list(again.runs), [("c", 0, "redis")])
        again.add(("c", 1, "redis"), {"rate": 7})
        self.assertEqual(len(journal.Journal(self.folder, {}).runs), 2)

    def test_other_settings_are_refused(self):
        journal.Journal(self.folder, {"seconds": 1})
        with self.assertRaisesRegex(journal.OtherSettings, "another --out"):
            journal.Journal(self.folder, {"seconds": 2})


class ProgressTest(unittest.TestCase):
    def test_time_left_is_of_what_was_measured(self):
        redis, libcuckoo = stores.STORES["redis-unix"], stores.STORES["libcuckoo"]
        left = progress.Progress(2, 1_000_000)
        self.assertAlmostEqual(left.left([redis], 0), 2 + progress.AROUND_A_RUN)
        # It loads within the run.
        self.assertGreater(left.left([libcuckoo], 0), left.left([redis], 0))
        for took in (3, 5):
            left.ran(redis, took)
        left.prepared(40)
        self.assertAlmostEqual(left.left([redis, redis], 1), 4 + 4 + 40)

    def test_words(self):
        self.assertEqual(progress.words(45.3), "45 s")
        self.assertEqual(progress.words(61 * 60), "61 min")
        self.assertEqual(progress.words(7500), "2 h 5 min")


class ServersTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def server(self, *more):
        server = servers.Server("listener", self.folder.name, listener(*more))
        self.addCleanup(server.stop)
        return server

    def test_starts_measures_and_ends(self):
        server = self.server()
        server.start()
        self.assertGreater(server.cpu_seconds(), 0)
        self.assertLess(server.cpu_seconds(), 10)
        self.assertGreater(server.memory_bytes(), 100_000)
        server.place_on({0})
        server.stop()
        self.assertEqual(server.process.returncode, -signal.SIGTERM)
        server.stop()
        with self.assertRaisesRegex(servers.Ended, "listener ended"):
            server.cpu_seconds()

    def test_one_that_wont_end_is_killed(self):
        server = self.server("stubborn")
        server.start()
        servers.Server.END_SECONDS, patience = 0.2, servers.Server.END_SECONDS
        self.addCleanup(setattr, servers.Server, "END_SECONDS", patience)
        server.stop()
        self.assertEqual(server.process.returncode, -signal.SIGKILL)

    def test_one_that_cant_start_says_why(self):
        with self.assertRaisesRegex(servers.CannotStart, "no room for me"):
            self.server("dies").start()


class StoresTest(unittest.TestCase):
    def test_every_store_is_known_to_the_servers(self):
        commands = stores.commands("dunlin-server", 1000, 100)
        for store in stores.STORES.values():
            self.assertTrue(store.server == "" or store.server in commands, store.name)
        self.assertLessEqual(set(stores.DEFAULT_STORES), set(stores.STORES))

    def test_memory_is_enough_for_all_records_twice(self):
        self.assertGreater(stores.memory_for(10**6, 1024), 2 * 10**6 * (1024 + stores.KEY_BYTES))


class CompareTest(unittest.TestCase):
    """The whole program, with something else in kvbench's place."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "log"

    def install(self, status=0, returns=None, stands_still=False, broken=()):
        kvbench = self.folder / "bench/kvbench/kvbench"
        server = self.folder / "server/dunlin-server"
        for program in (kvbench, server):
            program.parent.mkdir(parents=True, exist_ok=True)
            program.touch(mode=0o700)
        kvbench.write_text(KVBENCH.format(python=sys.executable, log=str(self.log), status=status,
                                          returns=returns or {"OK": "10"}, broken=broken,
                                          stands_still=stands_still), encoding="utf-8")

    def compare(self, *arguments):
        return subprocess.run(
            [sys.executable, "-B", ROOT / "bench/compare", "--build", self.folder, "--out",
             self.folder / "out", "--workloads", "c", "--values", "64", "--batch", "1",
             "--placement", "free", *arguments],
            capture_output=True, text=True, check=False)

    def called(self):
        calls = [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]
        return [call[:2] for call in calls if call[0] in ("load", "run")], calls[-1]

    def test_runs_in_turns_and_compares(self):
        self.install()
        done = self.compare("--stores", "libcuckoo,sharded-map", "--baseline", "sharded-map",
                            "--rounds", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        runs, last = self.called()
        self.assertEqual(runs, [["run", "libcuckoo"], ["run", "sharded_map"]] * 3)
        self.assertEqual(last[0], "report")
        self.assertEqual(len([word for word in last if word.endswith(".json")]), 6)
        self.assertIn("libcuckoo, in process", done.stdout)
        self.assertRegex(done.stdout, r"libcuckoo, in process +4 M/s.* 0\.50 +0\.50 +0\.50")
        cells = json.loads((self.folder / "out/summary.json").read_text(encoding="utf-8"))["cells"]
        self.assertEqual([(cell["store"], len(cell["runs"])) for cell in cells],
                         [("libcuckoo", 3), ("sharded-map", 3)])

    def test_in_process_stores_load_themselves_and_servers_once(self):
        self.install()
        stores_named = "libcuckoo"
        if shutil.which("redis-server"):
            stores_named += ",redis-unix,redis-tcp"
        done = self.compare("--stores", stores_named, "--rounds", "1", "--records", "1000")
        self.assertEqual(done.returncode, 0, done.stderr)
        runs, _ = self.called()
        if shutil.which("redis-server"):
            # What there is; loaded once, then idle by either way, then each its turn.
            self.assertEqual([name for _, name in runs],
                             ["redis", "redis", "redis", "libcuckoo", "redis", "redis"])
            self.assertEqual(runs[0][0], "load")
        log = self.log.read_text(encoding="utf-8")
        self.assertIn('"kvbench.load=true"', log)
        self.assertIn('"recordcount=1000"', log)

    def test_what_kvbench_was_built_without_is_left_out(self):
        self.install()
        done = self.compare("--stores", "libcuckoo,rocksdb", "--rounds", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rocksdb: left out", done.stdout)
        self.assertEqual(self.compare("--stores", "rocksdb").returncode, 2)

    def test_operations_that_failed_are_told(self):
        self.install(status=3, returns={"OK": "9", "NOT_FOUND": "1"})
        done = self.compare("--stores", "libcuckoo", "--rounds", "1")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("READ NOT_FOUND: 1", done.stdout)

    def test_a_run_during_which_the_machine_stood_still_is_repeated(self):
        self.install(stands_still=True)
        done = self.compare("--stores", "libcuckoo", "--rounds", "2", "--seconds", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        runs, last = self.called()
        self.assertEqual(len(runs), 4)
        self.assertEqual(len([word for word in last if word.endswith(".json")]), 2)
        self.assertIn("stood still for 29 s", done.stdout)

    def test_a_store_that_fails_is_told_and_the_others_go_on(self):
        self.install(broken=("sharded_map",))
        done = self.compare("--stores", "libcuckoo,sharded-map", "--rounds", "3")
        self.assertEqual(done.returncode, 1, done.stderr)
        runs, last = self.called()
        # Twice in succession, then no more.
        self.assertEqual([name for _, name in runs],
                         ["libcuckoo", "sharded_map", "libcuckoo", "sharded_map", "libcuckoo"])
        self.assertEqual(len([word for word in last if word.endswith(".json")]), 3)
        self.assertRegex(done.stdout, r"FAILED: .*in shards.*ended with 1")
        self.assertIn("no such map", done.stdout)
        self.assertRegex(done.stdout, r"in shards, in process +failed")

    def test_nothing_measured(self):
        self.install(broken=("libcuckoo",))
        done = self.compare("--stores", "libcuckoo")
        self.assertEqual(done.returncode, 2)
        self.assertIn("ended with 1", done.stdout)

    def test_goes_on_where_it_was(self):
        self.install()
        self.assertEqual(self.compare("--stores", "libcuckoo,sharded-map", "--rounds", "2").returncode, 0)
        lines = (self.folder / "out/runs.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        self.assertEqual(len(lines), 4)
        # Cut off within the second round, which is made again as a whole.
        (self.folder / "out/runs.jsonl").write_text("".join(lines[:3]) + "[[64", encoding="utf-8")
        self.log.unlink()
        done = self.compare("--stores", "libcuckoo,sharded-map", "--rounds", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        runs, last = self.called()
        self.assertEqual([name for _, name in runs], ["libcuckoo", "sharded_map"])
        self.assertEqual(len([word for word in last if word.endswith(".json")]), 4)
        self.assertIn("2 runs, about", done.stdout)
        # Nothing is left to do: only the page is made.
        self.log.unlink()
        self.assertEqual(self.compare("--stores", "libcuckoo,sharded-map", "--rounds", "2").returncode, 0)
        self.assertEqual(self.called()[0], [])
        self.assertEqual(self.compare("--stores", "libcuckoo", "--rounds", "2").returncode, 2)

    def test_a_client_that_does_not_end_is_killed(self):
        self.install()

        class Options:
            records, threads, seconds = 1, 1, 1
        runs = client.Client(pathlib.Path(shutil.which("sleep")), self.folder, Options)
        runs.patience = lambda: 0.1
        with self.assertRaisesRegex(client.RunFailed, "did not end"):
            runs.call(["60"])

    def test_wrong_usage(self):
        self.install()
        for wrong in (["--stores", "foo"], ["--rounds", "0"], ["--values", "x"], ["--seconds", "0.01"],
                      ["--nonsense"]):
            self.assertEqual(self.compare(*wrong).returncode, 2, wrong)
        self.assertFalse(self.log.exists())


if __name__ == "__main__":
    unittest.main()
