"""The program kvbench as people run it.  core_program_test.py KVBENCH DUNLIN_SERVER WORKLOADS"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

KVBENCH, SERVER, WORKLOADS = "", "", ""
LINE = re.compile(r"^\[[A-Za-z0-9_-]+\], [^,]+, [-0-9.E]+$")


def run(*arguments, timeout=60):
    return subprocess.run([KVBENCH, *arguments], capture_output=True, text=True, timeout=timeout)


def parsed(text):
    """{(metric, measurement): number}, as every reader of YCSB's output does it."""
    found = {}
    for line in text.splitlines():
        assert LINE.match(line), line
        metric, measurement, value = line.split(", ")
        found[metric.strip("[]"), measurement] = float(value)
    return found


def workload(name):
    return ["-P", os.path.join(WORKLOADS, name), "-p", "fieldcount=1", "-p", "kvbench.overhead=false"]


class NullStore(unittest.TestCase):
    def test_load_prints_the_report(self):
        done = run("load", "null", *workload("workloada"), "-threads", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = parsed(done.stdout)
        self.assertEqual(report["INSERT", "Operations"], 1000)
        self.assertEqual(report["INSERT", "Return=OK"], 1000)
        self.assertEqual(report["CLEANUP", "Operations"], 3)
        self.assertIn(("OVERALL", "Throughput(ops/sec)"), report)
        self.assertIn(("INSERT", "99thPercentileLatency(us)"), report)

    def test_every_workload_runs(self):
        for name in ("workloada", "workloadb", "workloadc", "workloadd", "workloade", "workloadf"):
            with self.subTest(name):
                done = run("run", "null", *workload(name))
                self.assertEqual(done.returncode, 0, done.stderr)
                report = parsed(done.stdout)
                counted = sum(count for (metric, what), count in report.items()
                              if what.startswith("Return=") and metric != "CLEANUP")
                if name != "workloadf":
                    self.assertEqual(counted, 1000)
        self.assertGreater(report["READ-MODIFY-WRITE", "Operations"], 400)

    def test_scans_are_not_implemented(self):
        report = parsed(run("run", "null", *workload("workloade")).stdout)
        self.assertGreater(report["SCAN", "Return=NOT_IMPLEMENTED"], 900)

    def test_ycsbs_own_form(self):
        done = run("-db", "null", "-load", *workload("workloadc"))
        self.assertEqual(parsed(done.stdout)["INSERT", "Operations"], 1000)
        done = run("-db", "null", "-t", *workload("workloadc"))
        self.assertEqual(parsed(done.stdout)["READ", "Operations"], 1000)

    def test_the_driver_tells_its_own_cost(self):
        done = run("run", "null", "-P", os.path.join(WORKLOADS, "workloada"))
        self.assertGreater(parsed(done.stdout)["DRIVER", "OverheadNanos"], 0)

    def test_a_schedule_brings_intended_latencies(self):
        report = parsed(run("run", "null", *workload("workloadc"), "-target", "10000").stdout)
        self.assertEqual(report["Intended-READ", "Operations"], 1000)
        self.assertGreaterEqual(report["OVERALL", "RunTime(ms)"], 99)

    def test_json(self):
        done = run("run", "null", *workload("workloadc"), "-p",
                   "exporter=site.ycsb.measurements.exporter.JSONArrayMeasurementsExporter")
        found = {(each["metric"], each["measurement"]): each["value"]
                 for each in json.loads(done.stdout)}
        self.assertEqual(found["READ", "Return=OK"], 1000)

    def test_progress(self):
        done = run("run", "null", *workload("workloadc"), "-s", "-p", "operationcount=0", "-p",
                   "maxexecutiontime=0.5", "-p", "status.interval=0.2", "-p", "kvbench.interval=0.1")
        self.assertRegex(done.stderr, r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3} \d+ sec: \d+ operations; "
                                      r"[0-9.]+ current ops/sec; est completion in \d+ second")

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            base = pathlib.Path(folder)
            done = run("run", "null", *workload("workloadc"), "-p", f"kvbench.results={base}/r.json",
                       "-p", f"exportfile={base}/report", "-p", "hdrhistogram.fileoutput=true", "-p",
                       f"hdrhistogram.output.path={base}/", "-l", "a label")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, "")
            self.assertEqual(parsed((base / "report").read_text())["READ", "Operations"], 1000)
            self.assertIn("HISTFA", (base / "READ.hdr").read_text())
            results = json.loads((base / "r.json").read_text())
            self.assertEqual(results["workload"], "workloadc")
            self.assertEqual(results["label"], "a label")
            done = run("report", f"{base}/r.json", "-o", f"{base}/page.html")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("a label", (base / "page.html").read_text())

    def test_an_interrupt_ends_the_run_and_reports(self):
        process = subprocess.Popen([KVBENCH, "run", "null", *workload("workloadc"), "-p",
                                    "operationcount=0"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        # Its first words come when it begins; from then on it is up to the signal.
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        self.assertIn(("OVERALL", "RunTime(ms)"), parsed(out))

    def test_what_makes_no_sense_is_refused(self):
        for arguments, wanted in (
                (["run", "null"], "workload"),
                (["run", "nosuchstore", *workload("workloadc")], "nosuchstore"),
                (["run", "null", *workload("workloadc"), "-thread", "3"], "-thread"),
                (["run", "null", *workload("workloadc"), "-p", "recordcount=x"], "recordcount"),
                (["run", "null", *workload("workloadc"), "-p", "kvbench.bacth=2"], "kvbench.batch"),
                (["load", "null", *workload("workloadc"), "-p", "recordcount=0"], "recordcount"),
                (["run", "null", *workload("workloadc"), "-p", "exporter=x"], "exporter"),
                (["slo", "null", *workload("workloadc")], "-p99")):
            with self.subTest(wanted):
                done = run(*arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(wanted, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_a_file_that_cannot_be_written(self):
        done = run("run", "null", *workload("workloadc"), "-p", "kvbench.results=/nonexistent/r.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent/r.json", done.stderr)

    def test_slo(self):
        done = run("slo", "null", *workload("workloadc"), "-p99", "1s", "-seconds", "0.2",
                   "-confirm", "0.3", "-precision", "0.5")
        report = parsed(done.stdout)
        # On a machine that is too busy to keep any schedule there is no rate.
        self.assertIn(done.returncode, (0, 3), done.stderr)
        self.assertEqual(done.returncode == 0, report["SLO", "Throughput(ops/sec)"] > 0)
        if done.returncode == 0:
            self.assertLess(report["SLO", "Measured(ns)"], 1e9)
            self.assertLess(report["SLO", "ShareAboveLimit"], 0.01)
            self.assertGreater(report["SLO", "LowestMissed(ops/sec)"],
                               report["SLO", "Throughput(ops/sec)"])

    def test_a_goal_that_nobody_meets(self):
        done = run("slo", "null", *workload("workloadc"), "-p100", "1ns", "-seconds", "0.2",
                   "-precision", "0.9")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(parsed(done.stdout)["SLO", "Throughput(ops/sec)"], 0)

    def test_help(self):
        self.assertIn("kvbench load", run("--help").stdout)
        self.assertIn("null", run("bindings").stdout)
        self.assertRegex(run("--version").stdout, r"^kvbench \d")


class Dunlin(unittest.TestCase):
    def test_a_server_that_is_not_there(self):
        began = time.monotonic()
        done = run("run", "dunlin", *workload("workloadc"), "-p",
                   "dunlin.target=shm:///nonexistent/d.sock")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent/d.sock", done.stderr)
        self.assertLess(time.monotonic() - began, 5)

    def test_load_run_and_verify(self):
        with tempfile.TemporaryDirectory() as folder:
            socket = os.path.join(folder, "d.sock")
            server = subprocess.Popen([SERVER, "--memory", "128MiB", "--socket", socket],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                self.wait_for(socket, server)
                self.go(socket, folder)
            finally:
                server.kill()
                server.wait()

    def wait_for(self, socket, server):
        end = time.monotonic() + 20
        target = f"dunlin.target=shm://{socket}"
        while run("load", "dunlin", *workload("workloadc"), "-p", target, "-p", "recordcount=1",
                  "-p", "insertorder=ordered").returncode != 0:
            self.assertIsNone(server.poll())
            self.assertLess(time.monotonic(), end)

    def go(self, socket, folder):
        common = ["-p", f"dunlin.target=shm://{socket}", "-p", "dataintegrity=true", "-threads", "2"]
        results = os.path.join(folder, "r.json")
        for batch in ("1", "16"):
            load = run("load", "dunlin", *workload("workloada"), *common, "-p",
                       f"kvbench.batch={batch}", "-p", f"kvbench.results={results}")
            self.assertEqual(load.returncode, 0, load.stderr)
            for name in ("workloada", "workloadd", "workloadf"):
                with self.subTest(name + " " + batch):
                    done = run("run", "dunlin", *workload(name), *common, "-p",
                               f"kvbench.batch={batch}")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    report = parsed(done.stdout)
                    self.assertEqual(report["VERIFY", "Return=OK"], report["READ", "Return=OK"])
                    self.assertNotIn(("VERIFY", "Return=UNEXPECTED_STATE"), report)
                    self.assertGreaterEqual(report["FABRIC", "RoundTripsPerOperation"], 0)
                    self.assertGreaterEqual(report["SERVER", "CpuPerMillionOperations(us)"], 0)
        with open(results, encoding="utf-8") as file:
            cost = json.load(file)["cost"]
        self.assertTrue(cost["server_known"])
        self.assertTrue(cost["fabric_known"])
        # Records of several fields, of which updates change one.
        fields = ["-p", "fieldcount=4", "-p", "insertorder=ordered"]
        for phase in ("load", "run"):
            done = run(phase, "dunlin", *workload("workloada"), *common, *fields)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("UNEXPECTED_STATE", done.stdout)
        # Records that another run's values belong to are seen to be wrong.
        done = run("run", "dunlin", *workload("workloadc"), *common, "-p", "fieldlength=50")
        self.assertEqual(done.returncode, 3)
        self.assertIn("UNEXPECTED_STATE", done.stdout)


if __name__ == "__main__":
    KVBENCH, SERVER, WORKLOADS = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
