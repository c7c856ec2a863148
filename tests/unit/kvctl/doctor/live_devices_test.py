#!/usr/bin/env python3
"""kvctl doctor on live RDMA devices, as tests/rdma/run provides them.

    tests/rdma/run -- live_devices_test.py KVCTL

Needs no server. In the virtual machine, whose devices are nobody else's, it also breaks them.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

KVCTL = sys.argv.pop(1) if len(sys.argv) > 1 else "kvctl"
PROBLEMS_FOUND = 11


def addresses() -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in os.environ["RDMA_TEST_ADDRESSES"].split())


def in_virtual_machine() -> bool:
    return "User Mode Linux" in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")


def doctor(*options: str) -> tuple[int, list[dict]]:
    run = subprocess.run([KVCTL, "doctor", "-o", "json", *options], check=False,
                         stdout=subprocess.PIPE, timeout=60)
    return run.returncode, json.loads(run.stdout)["findings"]


def evidence(finding: dict) -> str:
    return "\n".join(f'{each["source"]} = {each["value"]}' for each in finding["evidence"])


class DoctorTest(unittest.TestCase):

    def find(self, findings: list[dict], check: str, subject: str) -> dict:
        found = [each for each in findings
                 if each["check"] == check and each["subject"].split()[0] == subject]
        self.assertEqual(len(found), 1, f"{check} of {subject}: {found}")
        return found[0]

    def device_of(self, findings: list[dict], kind: str) -> str:
        """The device whose address is that of `kind`."""
        wanted = addresses()[kind]
        for each in findings:
            of_a_port = each["check"] in ("gid", "address")
            if of_a_port and wanted in evidence(each).replace(",", " ").split():
                return each["subject"].split()[0]
        return self.fail(f"no port has {wanted}: {findings}")


class LiveDevicesTest(DoctorTest):

    def test_devices_are_healthy(self):
        code, findings = doctor()
        problems = [each for each in findings if each["level"] == "problem"]
        self.assertEqual(code, PROBLEMS_FOUND if problems else 0)
        # The rest of a host may have problems; that of the virtual machine has none.
        tested = [self.device_of(findings, kind) for kind in addresses()]
        mine = [each for each in problems
                if in_virtual_machine() or each["subject"].split()[0] in tested]
        self.assertEqual(mine, [])
        devices = [each for each in findings if each["check"] == "rdma-devices"]
        self.assertEqual(len(devices), 1)
        self.assertEqual(devices[0]["level"], "ok")
        for each in findings:
            if each["check"] in ("device-files", "provider"):
                self.assertEqual(each["level"], "ok", each)

    def test_ports(self):
        _, findings = doctor()
        for kind in addresses():
            device = self.device_of(findings, kind)
            state = self.find(findings, "port-state", device)
            self.assertEqual(state["level"], "ok")
            self.assertIn("ports/1/state = 4: ACTIVE", evidence(state))
            self.assertEqual(self.find(findings, "gid", device)["level"], "ok")
            self.assertIn("active_mtu", evidence(self.find(findings, "mtu", device)))

    def test_limits_and_the_atomic_domain(self):
        _, findings = doctor()
        for kind in addresses():
            device = self.device_of(findings, kind)
            self.assertIn("max_qp_rd_atom", evidence(self.find(findings, "limits", device)))
            atomics = self.find(findings, "atomics", device)
            if kind.startswith("rxe"):
                self.assertIn("the atomic domain is nic", atomics["finding"])
            if kind.startswith("siw"):
                self.assertIn("the atomic domain is cpu", atomics["finding"])

    def test_counters(self):
        _, findings = doctor()
        for kind in addresses():
            device = self.device_of(findings, kind)
            if kind.startswith("siw"):
                loss = self.find(findings, "retransmissions", device)
                self.assertIn("the whole host's", loss["finding"])
            else:
                loss = self.find(findings, "loss", device)
            self.assertNotEqual(loss["level"], "not_shown")

    def test_files_alone_tell_of_the_same_ports(self):
        _, live = doctor()
        _, of_files = doctor("--root", "//")
        for kind in addresses():
            device = self.device_of(live, kind)
            self.assertEqual(self.find(live, "port-state", device),
                             self.find(of_files, "port-state", device))
            self.assertEqual(self.find(of_files, "limits", device)["level"], "not_shown")


@unittest.skipUnless(in_virtual_machine(), "the devices of this host are left alone")
class BrokenDevicesTest(DoctorTest):

    def netdev_of(self, findings: list[dict], device: str) -> str:
        for source in evidence(self.find(findings, "mtu", device)).split():
            if source.startswith("/sys/class/net/"):
                return source.split("/")[4]
        return self.fail(f"no interface of {device}")

    def set_link(self, netdev: str, *how: str):
        subprocess.run(["ip", "link", "set", netdev, *how], check=True)

    def test_a_small_mtu(self):
        _, findings = doctor()
        for kind in addresses():
            if not kind.startswith("rxe"):
                continue
            device = self.device_of(findings, kind)
            netdev = self.netdev_of(findings, device)
            self.addCleanup(self.set_link, netdev, "mtu", "9000")
            self.set_link(netdev, "mtu", "1500")
            code, broken = doctor()
            mtu = self.find(broken, "mtu", device)
            self.assertEqual((code, mtu["level"]), (0, "warning"))
            self.assertIn("active_mtu 1024", evidence(mtu))
            self.assertIn(f"ip link set {netdev} mtu 9000", mtu["remedy"])

    def test_ports_that_are_down(self):
        _, findings = doctor()
        devices = [self.device_of(findings, kind) for kind in addresses()]
        netdevs = [self.netdev_of(findings, device) for device in devices]
        for netdev in netdevs:
            self.addCleanup(self.set_link, netdev, "up")
            self.set_link(netdev, "down")
        code, broken = doctor()
        self.assertEqual(code, PROBLEMS_FOUND)
        for device in devices:
            state = self.find(broken, "port-state", device)
            self.assertEqual(state["level"], "problem")
            self.assertIn("not active", state["finding"])
            self.assertTrue(state["remedy"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
