#!/usr/bin/env python3
"""Opens a page of made-up runs in a headless browser and looks at what the page's script made.

    report_browser_test.py SYNTHETIC BROWSER     SYNTHETIC is the program kvbench_report_synthetic

Exit status 77: the browser can't be run here.
"""

import html.parser
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SYNTHETIC = BROWSER = ""

# Chooses everything that can be chosen, and walks over every chart; what goes wrong becomes the
# title.
TRY_EVERYTHING = """<script>
addEventListener("error", (event) => { document.title = "error: " + event.message; });
const walk = () => {
  for (const chart of document.querySelectorAll(".chart")) {
    const box = chart.getBoundingClientRect();
    if (box.width === 0) continue;
    for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft", "Escape"]) {
      chart.dispatchEvent(new KeyboardEvent("keydown", {key}));
    }
    chart.dispatchEvent(new PointerEvent("pointermove",
        {clientX: box.left + box.width / 2, clientY: box.top + box.height / 2}));
    if (document.getElementById("tip").hidden) document.title = "error: no tip";
    chart.dispatchEvent(new PointerEvent("pointerleave"));
    if (!document.getElementById("tip").hidden) document.title = "error: tip stays";
  }
};
walk();
for (const where of ["#overview button", "#filters button", "#headline input"]) {
  const count = document.querySelectorAll(where).length;
  for (let i = 0; i < count; ++i) {
    const found = document.querySelectorAll(where)[i];
    if (found) found.click();
    if (where === "#overview button") walk();
  }
}
for (const run of document.querySelectorAll("details")) run.open = true;
const select = document.querySelector("#filters select");
select.value = "";
select.dispatchEvent(new Event("change"));
document.getElementById("theme").click();
</script></body>"""


class Elements(html.parser.HTMLParser):
    """What the browser's document has: how often each element, all ids, and the text by section."""

    def __init__(self, text: str):
        super().__init__()
        self.ids: list[str] = []
        self.counts: dict[str, dict[str, int]] = {}
        self.texts: dict[str, str] = {}
        self.hidden: set[str] = set()
        self._section = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "id" in values:
            self.ids.append(values["id"])
        if tag in ("section", "style", "script") or values.get("id") in (
                "failure", "summary", "filters") or (tag == "title" and tag not in self.texts):
            self._section = values.get("id") or tag
            if "hidden" in values:
                self.hidden.add(self._section)
        counts = self.counts.setdefault(self._section, {})
        counts[tag] = counts.get(tag, 0) + 1

    def handle_data(self, data):
        self.texts[self._section] = self.texts.get(self._section, "") + data


def browse(page: pathlib.Path) -> subprocess.CompletedProcess:
    with tempfile.TemporaryDirectory() as profile:
        return subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             f"--user-data-dir={profile}", "--window-size=1280,1000",
             "--virtual-time-budget=5000", "--dump-dom", page.as_uri()],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200, check=False)


def document_of(runs: int, script: str = "</body>") -> Elements:
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.html"
        subprocess.run([SYNTHETIC, str(runs), str(page)], check=True)
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace("</body>", script), encoding="utf-8")
        return Elements(browse(page).stdout)


class PageTest(unittest.TestCase):

    def test_many_runs(self):
        document = document_of(60)
        self.assertIn("failure", document.hidden, document.texts.get("failure"))
        self.assertIn("62 runs of", document.texts["summary"])
        self.assertNotIn("overview", document.hidden)
        # workloads A, B, C, and the ones of the two strange runs
        self.assertGreaterEqual(document.counts["overview"]["button"], 3)
        # Medians of 400 ns and 80 us, give or take 5 %: rates of 2.5 M/s, 200 times the slowest's.
        rate, ratio = re.search(r"near\u2013([\d.]+) M/s(\d+)\u00d7",
                                document.texts["overview"]).groups()
        self.assertAlmostEqual(float(rate), 2.5, delta=0.2)
        self.assertAlmostEqual(float(ratio), 200, delta=21)
        self.assertIn("near", document.texts["headline"])
        self.assertIn("workloadc, 100 B", document.texts["headline"])
        for section in ("rates", "percentiles", "curve", "shape", "time"):
            self.assertNotIn(section, document.hidden)
            self.assertGreater(document.counts[section]["path"], 2, section)
        self.assertGreaterEqual(document.counts["cost"]["svg"], 5)
        self.assertEqual(document.counts["runs"]["details"], 62)

    def test_everything_can_be_chosen(self):
        document = document_of(24, TRY_EVERYTHING)
        self.assertEqual(document.texts["title"].strip(), "Made up")
        self.assertIn("failure", document.hidden)
        self.assertGreater(document.counts["runs"]["dl"], 24)

    def test_hostile_text_is_text(self):
        document = document_of(1)
        self.assertIn("failure", document.hidden, document.texts.get("failure"))
        self.assertNotIn("taken", document.ids)
        self.assertEqual(document.texts["title"].strip(), "Made up")
        self.assertIn("</script><script>", document.texts["runs"])


def main() -> int:
    global SYNTHETIC, BROWSER
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    SYNTHETIC, BROWSER = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "empty.html"
        page.write_text("<p id=works></p>", encoding="utf-8")
        tried = browse(page)
    if "works" not in tried.stdout:
        print(f"{BROWSER} does not run here: {tried.stderr.strip()[-500:]}")
        return 77
    result = unittest.TextTestRunner().run(
        unittest.defaultTestLoader.loadTestsFromTestCase(PageTest))
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
