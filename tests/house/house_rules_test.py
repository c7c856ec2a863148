#!/usr/bin/env python3
"""Each rule of house_rules.py passes a tree that keeps it, and fails one that breaks it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import house_rules


class HouseRulesTest(unittest.TestCase):

    def check(self, files: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return [str(violation) for violation in house_rules.check_tree(root)[1]]

    def assert_fine(self, path: str, text: str) -> None:
        self.assertEqual(self.check({path: text}), [])

    def assert_broken(self, path: str, text: str, line: int, part: str) -> None:
        violations = self.check({path: text})
        self.assertEqual(len(violations), 1, violations)
        self.assertTrue(violations[0].startswith(f"{path}:{line}: "), violations)
        self.assertIn(part, violations[0])

    def assert_may_include(self, path: str, *names: str) -> None:
        for name in names:
            self.assert_fine(path, f'#include "{name}"\n')

    def assert_must_not_include(self, path: str, *names: str) -> None:
        for name in names:
            self.assert_broken(path, f'\n#include "{name}"\n', 2, "must not include")

    def test_base_includes_only_itself(self):
        self.assert_may_include("common/base/a.cc", "common/base/b.h", "absl/status/status.h")
        self.assert_must_not_include("common/base/a.cc", "common/layout/slot.h",
                                     "common/memory/pool.h", "server/region.h", "client/a.h")

    def test_layout_is_below_memory(self):
        self.assert_may_include("common/layout/a.cc", "common/base/b.h", "common/layout/slot.h")
        self.assert_must_not_include("common/layout/a.cc", "common/memory/pool.h",
                                     "common/fabric/chain.h", "common/protocol/get.h")
        self.assert_may_include("common/memory/a.cc", "common/base/b.h", "common/layout/slot.h",
                                "common/memory/pool.h")
        self.assert_must_not_include("common/memory/a.cc", "common/fabric/chain.h",
                                     "common/protocol/get.h")

    def test_protocol_is_pure(self):
        self.assert_may_include("common/protocol/get.cc", "common/layout/slot.h",
                                "common/memory/block_ref.h", "common/fabric/chain.h",
                                "common/base/check.h", "common/protocol/get.h")
        self.assert_must_not_include("common/protocol/get.cc", "common/fabric/fabric.h",
                                     "common/base/clock.h", "common/base/log.h",
                                     "common/base/sync.h", "common/fabric/chain_extra.h")

    def test_fabrics_do_not_know_each_other_nor_the_protocol(self):
        self.assert_may_include("common/fabric/shm/a.cc", "common/fabric/fabric.h",
                                "common/fabric/shm/a.h")
        self.assert_must_not_include("common/fabric/shm/a.cc", "common/protocol/get.h")
        self.assert_must_not_include("common/fabric/a.cc", "common/protocol/get.h",
                                     "common/memory/allocator.h")
        for one, other in (("shm", "verbs"), ("verbs", "tcp"), ("tcp", "shm")):
            violations = self.check(
                {f"common/fabric/{one}/a.cc": f'#include "common/fabric/{other}/device.h"\n'})
            self.assertIn("must not include", violations[0])

    def test_common_includes_neither_client_nor_server(self):
        self.assert_may_include("common/cluster/a.cc", "common/base/a.h", "proto/a.pb.h")
        for folder in ("cluster", "snapshot"):
            self.assert_must_not_include(f"common/{folder}/a.cc", "client/a.h", "server/a.h",
                                         "dunlin/client.h", "tests/a.h")

    def test_snapshots_are_files_and_nothing_else(self):
        self.assert_may_include("common/snapshot/a.cc", "common/base/a.h", "common/layout/slot.h",
                                "common/snapshot/manifest.h")
        self.assert_must_not_include("common/snapshot/a.cc", "common/memory/pool.h",
                                     "common/fabric/chain.h", "common/protocol/get.h",
                                     "proto/a.pb.h")

    def test_client_and_server_do_not_include_each_other(self):
        self.assert_may_include("client/a.cc", "common/base/a.h", "client/b.h", "dunlin/client.h")
        self.assert_must_not_include("client/a.cc", "server/region.h", "tests/a.h", "bench/a.h")
        self.assert_may_include("server/a.cc", "common/base/a.h", "server/b.h", "proto/a.pb.h")
        self.assert_must_not_include("server/a.cc", "client/session.h", "dunlin/client.h",
                                     "tests/a.h")

    def test_public_headers_and_examples_need_nothing_but_public_headers(self):
        self.assert_fine("client/include/dunlin/a.h", '#pragma once\n#include "dunlin/b.h"\n')
        self.assert_broken("client/include/dunlin/a.h",
                           '#pragma once\n#include "common/base/check.h"\n', 2, "must not include")
        self.assert_fine("examples/a.cc", "#include <dunlin/client.h>\n")
        self.assert_broken("examples/a.cc", '#include "client/session.h"\n', 1, "must not include")

    def test_includes_start_at_the_root(self):
        self.assert_broken("server/a.cc", '#include "region.h"\n', 1, "start at the project's root")

    def test_only_a_main_or_a_factory_picks_a_fabric(self):
        include = '#include "common/fabric/shm/shm_channel.h"\n'
        self.assert_broken("server/region.cc", include, 1, "picks a fabric")
        self.assert_broken("client/session.cc", include, 1, "picks a fabric")
        self.assert_fine("server/main.cc", include)
        self.assert_fine("client/fabric_factory.cc", include)
        self.assert_fine("client/kvctl/a.cc", '#include "common/fabric/verbs/device_list.h"\n')
        self.assert_fine("tests/conformance/a_test.cc", include)

    def test_libraries_have_one_owner(self):
        for name, owner, other in (
                ("infiniband/verbs.h", "common/fabric/verbs/a.cc", "common/fabric/shm/a.cc"),
                ("rdma/rdma_cma.h", "common/fabric/verbs/a.cc", "server/a.cc"),
                ("infiniband/verbs.h", "bench/raw_verbs/a.cc", "bench/micro/a.cc"),
                ("rdma/rdma_cma.h", "bench/raw_verbs/a.cc", "bench/a.cc"),
                ("rocksdb/db.h", "common/snapshot/a.cc", "server/a.cc"),
                ("CLI/CLI.hpp", "client/kvctl/main.cc", "client/kvctl/options.cc"),
                ("CLI/CLI.hpp", "client/kvctl/command_line.cc", "client/kvctl/command_line.h.cc"),
                ("CLI/CLI.hpp", "bench/kvbench_main.cc", "bench/domain.cc"),
                ("gtest/gtest.h", "tests/unit/a_test.cc", "common/base/a.cc"),
                ("benchmark/benchmark.h", "bench/micro/a.cc", "common/base/a.cc")):
            self.assert_fine(owner, f"#include <{name}>\n")
            self.assert_broken(other, f"#include <{name}>\n", 1, "may only be included in")

    def test_only_mains_and_check_end_the_process(self):
        for call in ("exit(1);", "std::exit(1);", "::_exit(2);", "abort();", "std::abort ();",
                     "std::terminate();", "quick_exit(0);"):
            text = f"void F() {{\n  {call}\n}}\n"
            self.assert_broken("server/a.cc", text, 2, "ends the process")
            self.assert_fine("server/main.cc", text)
            self.assert_fine("common/base/check.cc", text)
        self.assert_fine("tests/unit/a_test.cc", "  _exit(0);\n")
        self.assert_fine("server/a.cc", "  gate.exit();\n  p->abort();\n  on_exit(f);\n")
        self.assert_fine("server/a.cc", "// never call exit(1)\n/* abort()\n exit(2) */\n"
                                        'Log("abort()");\n')

    def test_nobody_sleeps(self):
        for call in ("std::this_thread::sleep_for(x);", "usleep(5);", "::sleep(1);",
                     "nanosleep(&t, nullptr);", "sleep_until(t);"):
            self.assert_broken("tests/unit/a_test.cc", f"{call}\n", 1, "sleeps")
            self.assert_broken("server/a.cc", f"\n{call}\n", 2, "sleeps")
            self.assert_fine("common/base/clock.cc", f"{call}\n")

    def test_a_test_that_measures_says_why_it_sleeps(self):
        line = "sleep_for(span);  // sleeps to measure the idle rate\n"
        self.assert_fine("tests/end_to_end/a_test.cc", line)
        self.assert_fine("tests/end_to_end/a_test.cc", "// sleeps to measure\nsleep_for(span);\n")
        self.assert_broken("tests/end_to_end/a_test.cc",
                           "// sleeps to measure\n\nsleep_for(span);\n", 3, "sleeps")
        self.assert_broken("server/a.cc", line, 1, "sleeps")
        self.assert_broken("tests/end_to_end/a_test.cc", "sleep_for(span);  // sleeps to \n", 1,
                           "sleeps")

    def test_literals_do_not_hide_code(self):
        self.assert_broken("server/a.cc", 'A("\\"", \'"\'); exit(1);\n', 1, "ends the process")
        self.assert_broken("server/a.cc", "A(1'000, 2'000); exit(1);\n", 1, "ends the process")
        self.assert_broken("server/a.cc", 'R"x(\n")x"; exit(1);\n', 2, "ends the process")

    def test_nothing_is_left_unfinished(self):
        for word in ("TO" + "DO", "FIX" + "ME", "X" + "XX"):
            for path in ("server/a.cc", "cmake/a.cmake", "tools/a", "docs/a.md", "CMakeLists.txt"):
                self.assert_broken(path, f"a\n# {word}: later\n", 2, "unfinished")
        self.assert_fine("server/a.cc", 'MakeTemp("/tmp/a-XXXXXX");\n')

    def test_no_machine_paths(self):
        for folder in ("work", "root"):
            self.assert_broken("docs/a.md", f"see /{folder}/notes\n", 1, "particular machine")
        self.assert_fine("docs/a.md", "see /usr/share/dunlin and a/work/b\n")

    def test_files_are_short(self):
        line = "int a;\n"
        self.assert_fine("server/a.cc", line * 700)
        self.assert_broken("server/a.cc", line * 701, 701, "the limit is 700")

    def test_headers(self):
        self.assert_broken("server/a.h", "int a;\n", 1, "no #pragma once")
        self.assert_broken("server/a.h", "#pragma once\nusing namespace std;\n", 2,
                           "using namespace")
        self.assert_fine("server/a.h", "#pragma once\n// using namespace std\n")

    def test_the_exit_status_tells(self):
        script = str(pathlib.Path(__file__).resolve().parent / "house_rules.py")

        def status(arguments: list[str]) -> int:
            return subprocess.run([sys.executable, "-B", script, *arguments], check=False,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode

        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "server" / "a.cc"
            self.assertEqual(status([folder]), 1)  # nothing to check is no success
            source.parent.mkdir()
            source.write_text("int a;\n", encoding="utf-8")
            self.assertEqual(status([folder]), 0)
            source.write_text("exit(1);\n", encoding="utf-8")
            self.assertEqual(status([folder]), 1)
        self.assertEqual(status([]), 2)


if __name__ == "__main__":
    unittest.main()
