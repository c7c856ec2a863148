#!/usr/bin/env python3
"""The arithmetic of bench/model on cases that can be worked out by hand, and its command line.

    model_test.py MODEL [unittest's arguments]     MODEL is the folder bench/model
"""

import dataclasses
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(FOLDER))

import dunlin_costs  # noqa: E402
import fabric_model as fabric  # noqa: E402
from fabric_model import Cluster, Operation, Verb  # noqa: E402

ROUND = fabric.Hardware(
    name="round numbers", rtt_us=2, read_mops=10, write_mops=5, atomic_mops=2, same_word_mops=1,
    link_gbps=8, header_bytes=50, mtu=1000, read_depth=4, post_us=0.5, verb_us=0.25)
GET = Operation(((Verb("read", 100), Verb("read", 8)),))
PUT = Operation(((Verb("write", 100), Verb("cas", 8)),))


class DemandTest(unittest.TestCase):

    def test_bytes_on_the_wire(self):
        self.assertEqual(fabric.wire_bytes(Verb("read", 100), ROUND), (66, 154))
        self.assertEqual(fabric.wire_bytes(Verb("read", 1001), ROUND), (66, 1001 + 100 + 4))
        self.assertEqual(fabric.wire_bytes(Verb("write", 100), ROUND), (166, 54))
        self.assertEqual(fabric.wire_bytes(Verb("cas", 8), ROUND), (78, 62))

    def test_of_a_get(self):
        demand = fabric.demand_of(GET, ROUND, store_us=0.1)
        self.assertEqual((demand.round_trips, demand.verbs, demand.atomics), (1, 2, 0))
        self.assertAlmostEqual(demand.engine_us, 0.2)
        self.assertAlmostEqual(demand.in_us, 132 / 1000)       # 8 Gb/s is a byte a nanosecond
        self.assertAlmostEqual(demand.out_us, (154 + 62) / 1000)
        self.assertAlmostEqual(demand.client_us, 0.5 + 0.25 + 0.1)

    def test_of_a_put(self):
        demand = fabric.demand_of(PUT, ROUND)
        self.assertEqual((demand.atomics, demand.reads_and_atomics), (1, 1))
        self.assertAlmostEqual(demand.engine_us, 0.2 + 0.1)
        self.assertAlmostEqual(demand.atomic_us, 0.5)

    def test_unawaited_verbs_cost_but_do_not_delay(self):
        more = dataclasses.replace(GET, unawaited=(Verb("write", 8),))
        plain, with_more = fabric.demand_of(GET, ROUND), fabric.demand_of(more, ROUND)
        self.assertEqual(with_more.wire_us, plain.wire_us)
        self.assertAlmostEqual(with_more.engine_us - plain.engine_us, 0.2)

    def test_mix_is_the_weighted_mean(self):
        get, put = fabric.demand_of(GET, ROUND), fabric.demand_of(PUT, ROUND)
        mixed = fabric.mix_demand([(3, get), (1, put)])
        self.assertAlmostEqual(mixed.engine_us, 0.75 * 0.2 + 0.25 * 0.3)
        self.assertAlmostEqual(mixed.atomic_us, 0.25 * 0.5)
        with self.assertRaises(ValueError):
            fabric.mix_demand([(0, get)])

    def test_measured_counts_replace_the_tables(self):
        demand = fabric.with_measured(fabric.demand_of(GET, ROUND), round_trips=1.5, verbs=3)
        self.assertEqual((demand.round_trips, demand.verbs), (1.5, 3))
        self.assertAlmostEqual(demand.engine_us, 0.3)
        self.assertAlmostEqual(demand.client_us, 0.75 * 1.5)
        with self.assertRaises(ValueError):
            fabric.with_measured(demand, 0, 1)


class QueueTest(unittest.TestCase):

    def test_alone_an_operation_waits_for_nobody(self):
        demand = fabric.demand_of(GET, ROUND)
        found = fabric.closed_loop(demand, ROUND, Cluster())
        stations = 2 * (demand.engine_us + demand.in_us + demand.out_us)
        expected = demand.wire_us + demand.client_us + stations
        self.assertAlmostEqual(found.latency_us, expected)
        self.assertAlmostEqual(found.mops, 1 / expected)
        self.assertEqual(found.bottleneck, "round trips")

    def test_one_station_is_the_machine_repairman(self):
        # One station of 1 us and a delay of 1 us, two customers: worked out by hand.
        rate, latency = fabric.mean_value_analysis([fabric.Station("s", 1, 1)], 1, 2)
        self.assertAlmostEqual(rate, 2 / (1 + 1.5))
        self.assertAlmostEqual(latency, 2.5)

    def test_many_clients_reach_the_ceiling_and_no_more(self):
        demand = fabric.demand_of(GET, ROUND)
        found = fabric.closed_loop(demand, ROUND, Cluster(1, 10, 100))
        self.assertAlmostEqual(found.ceiling_mops, 1 / demand.out_us)
        self.assertAlmostEqual(found.mops, found.ceiling_mops, places=3)
        self.assertEqual(found.bottleneck, "server's link out")
        self.assertAlmostEqual(found.latency_us, 1000 / found.mops, places=1)

    def test_the_approximation_joins_the_exact_solution(self):
        stations = [fabric.Station("a", 0.2, 4), fabric.Station("b", 0.1, 1)]
        exact = fabric.mean_value_analysis(stations, 200.0, 5000)[0]
        near = fabric.mean_value_analysis(stations, 200.0, 5001)[0]
        self.assertLess(abs(near / exact - 1), 0.02)

    def test_servers_multiply_what_they_limit(self):
        demand = fabric.demand_of(GET, ROUND)
        one = fabric.ceilings(demand, ROUND, Cluster(1, 1000, 10))[0][1]
        ten = fabric.ceilings(demand, ROUND, Cluster(10, 1000, 10))[0][1]
        self.assertAlmostEqual(ten, 10 * one)

    def test_a_hot_key_limits_its_server(self):
        demand = fabric.demand_of(GET, ROUND)
        cluster = Cluster(1000, 10_000, 10, hottest_share=0.05)
        self.assertAlmostEqual(cluster.hottest_server, 0.05 + 0.95 / 1000)
        what, ceiling = fabric.ceilings(demand, ROUND, cluster)[0]
        self.assertEqual(what, "hottest server's link out")
        self.assertAlmostEqual(ceiling, 1 / (demand.out_us * cluster.hottest_server))

    def test_atomics_on_one_word_are_a_ceiling_of_their_own(self):
        demand = fabric.demand_of(PUT, ROUND)
        found = dict(fabric.ceilings(demand, ROUND, Cluster(1, 10, 10, hottest_share=0.5)))
        self.assertAlmostEqual(found["atomics on the hottest word"], 1 / 0.5)

    def test_depth_of_reads_limits_a_connection(self):
        demand = fabric.demand_of(GET, ROUND)
        found = dict(fabric.ceilings(demand, ROUND, Cluster(1, 1, 1, outstanding=100)))
        self.assertAlmostEqual(found["depth of READs"], 4 / (2 * 2))

    def test_open_loop_waits_more_the_busier_it_is(self):
        demand = fabric.demand_of(GET, ROUND)
        cluster = Cluster(1, 10, 10)
        ceiling = fabric.ceilings(demand, ROUND, cluster)[0][1]
        latencies = [fabric.open_loop(demand, ROUND, cluster, ceiling * share).latency_us
                     for share in (0.01, 0.5, 0.9, 0.99)]
        self.assertEqual(latencies, sorted(latencies))
        self.assertGreater(latencies[3], 3 * latencies[0])
        self.assertIsNone(fabric.open_loop(demand, ROUND, cluster, ceiling))

    def test_wrong_input_is_refused(self):
        for change in ({"rtt_us": 0}, {"read_mops": -1}, {"link_gbps": math.nan}, {"post_us": 3}):
            with self.assertRaises(ValueError):
                dataclasses.replace(ROUND, **change)
        for change in ({"servers": 0}, {"outstanding": 0}, {"hottest_share": 2}):
            with self.assertRaises(ValueError):
                Cluster(**change)
        with self.assertRaises(ValueError):
            Verb("send", 8)

    def test_zipfian(self):
        self.assertAlmostEqual(1 / fabric.zipfian_hottest(1000, 0.99), 7.728953217284729)
        self.assertAlmostEqual(1 / fabric.zipfian_hottest(10_000_000_001, 0.99), 26.46902820178302,
                               places=6)


class CostsTest(unittest.TestCase):

    def test_classes_of_blocks(self):
        for size, block in ((1, 32), (33, 40), (104, 104), (128, 128), (129, 144), (1064, 1152),
                            (2048, 2048), (32768, 32768)):
            self.assertEqual(dunlin_costs.block_size(size), block)
        with self.assertRaises(ValueError):
            dunlin_costs.block_size(32769)

    def test_table_is_that_of_the_protocol(self):
        """docs/protocol.md; tests/rdma asserts it at ibv_post_send."""
        rows = dunlin_costs.load_costs(FOLDER / "dunlin_costs.json")["operations"]
        named = dunlin_costs.sizes(16, 64)
        expected = {"get_known": (1, 2), "get_cold": (2, 3), "get_absent": (1, 2),
                    "put_known": (1, 2), "put_cold": (3, 7), "insert": (2, 6),
                    "remove_known": (1, 1), "remove_cold": (3, 4)}
        found = {}
        for name, row in rows.items():
            operation = dunlin_costs.operation_of(row, named)
            found[name] = (len(operation.chains), len(operation.verbs()))
        self.assertEqual(found, expected)

    def test_mix(self):
        parts = dunlin_costs.parts_of_mix({"read": 0.5, "update": 0.5}, 0.9)
        self.assertAlmostEqual(sum(share for share, _ in parts), 1)
        self.assertEqual(len(parts), 4)
        with self.assertRaises(ValueError):
            dunlin_costs.parts_of_mix({"scan": 1}, 1)


class CommandTest(unittest.TestCase):

    def run_model(self, *arguments):
        return subprocess.run([sys.executable, "-B", str(FOLDER / "model"), *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)

    def test_predicts(self):
        done = self.run_model("predict", "--servers", "1,1000", "--clients", "1000")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 5)

    def test_measured_results_are_taken(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "results.json"
            path.write_text(json.dumps({"cost": {
                "fabric_known": True, "round_trips_per_operation": 1.25,
                "verbs_per_operation": 2.5}}),
                encoding="utf-8")
            done = self.run_model("predict", "--measured", str(path))
            self.assertIn("1.25 round trips, 2.50 verbs", done.stdout)
            path.write_text("{}", encoding="utf-8")
            self.assertEqual(self.run_model("predict", "--measured", str(path)).returncode, 2)

    def test_says_what_is_wrong(self):
        for arguments, words in ((("--hardware", "abacus"), "no hardware abacus"),
                                 (("--set", "speed=1"), "expected FIELD=NUMBER"),
                                 (("--mix", "read"), "expected OPERATION=SHARE"),
                                 (("--value", "40000"), "run of pages")):
            done = self.run_model("predict", *arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
        self.assertEqual(self.run_model("predict", "--measured", "/nonexistent").returncode, 1)

    def test_published_figures_are_within_what_the_page_says(self):
        """docs/model.md states the errors: this fails when the model no longer has them."""
        done = self.run_model("check")
        self.assertEqual(done.returncode, 0, done.stderr)
        errors = [int(line.split()[-1].rstrip("%")) for line in done.stdout.splitlines()
                  if line.endswith("%") and not line.startswith("    ")]
        figures = json.loads((FOLDER / "published.json").read_text(encoding="utf-8"))["figures"]
        self.assertEqual(len(errors), len(figures))
        for error, figure in zip(errors, figures):
            self.assertEqual(error, figure["error_percent"], figure["what"])


if __name__ == "__main__":
    unittest.main()
