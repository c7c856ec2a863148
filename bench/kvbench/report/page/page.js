// What is chosen, and what follows from it.

const most_shown_at_first = 10;
const most_listed_at_first = 16;
const most_runs_together = 100;

const facets = [
  {name: "Store", of: (line) => line.binding || line.store},
  {name: "Threads", of: (line) => String(line.threads)},
  {name: "Batch", of: (line) => String(line.batch)},
  {name: "Target", of: (line) => (line.target ? tickText(formatRate(line.target)) : "none")},
  {name: "Remark", of: (line) => line.remark || "none"},
];

function chip(words, pressed, act) {
  const button = node("button", {
    type: "button", class: "chip", "aria-pressed": String(pressed), title: words,
  }, words);
  button.addEventListener("click", act);
  return button;
}

function facetPart(name, chips) {
  return node("div", {class: "facet", role: "group", "aria-label": name},
      node("span", {class: "name"}, name), chips);
}

function unique(values) {
  return [...new Set(values)].sort(compareNames);
}

class Page {
  constructor(runs, baseline) {
    this.runs = runs;
    this.groups = makeGroups(runs);
    this.lines = this.groups.flatMap((group) => group.lines);
    this.labels = unique(this.lines.map((line) => line.label));
    // At first the workload of which there is most.
    this.group = this.groups.reduce((best, group) =>
      (group.lines.length > best.lines.length ? group : best));
    // Unless one is asked for, the slowest of the first workload.
    const slowest = this.group.lines[this.group.lines.length - 1];
    this.baseline = this.labels.includes(baseline) ? baseline
      : this.labels.length > 1 ? slowest.label : "";
    this.hidden = new Map(facets.map((facet) => [facet.name, new Set()]));
    this.ticked = new Map();
    this.styles = new Map();
    this.operation = "";
    this.from_schedule = false;
    this.keep = (line) =>
      facets.every((facet) => !this.hidden.get(facet.name).has(facet.of(line)));
    this.hideMost();
  }

  // Many stores in many settings are too much to begin with: one setting of all stores is shown, and
  // the others can be chosen.
  hideMost() {
    for (const facet of facets.filter((each) => each.name !== "Store").reverse()) {
      if (this.group.lines.filter(this.keep).length <= most_listed_at_first) return;
      for (const value of unique(this.lines.map(facet.of)).slice(1)) {
        this.hidden.get(facet.name).add(value);
      }
    }
  }

  // Lines that the reader ticked or unticked; of the others the fastest of each store, the
  // baseline's before all, and then the fastest.
  shown(lines) {
    const shown = new Set();
    const ranked = [...lines].sort((a, b) =>
      (b.label === this.baseline) - (a.label === this.baseline));
    const best = [...collect(ranked, (line) => line.store).values()].map((members) => members[0]);
    const first = [...new Set([...best, ...lines])].slice(0, most_shown_at_first);
    for (const line of lines) {
      const choice = this.ticked.get(line.id);
      if (choice === undefined ? first.includes(line) : choice) shown.add(line.id);
    }
    return shown;
  }

  // What is drawn has colors of its own as far as they go, and keeps them from one choice to the
  // next.
  giveStyles(lines, shown) {
    const taken = new Set();
    const without = [];
    for (const id of [...shown].sort(compareNames)) {
      const style = this.styles.get(id);
      if (style === undefined || taken.has(style)) without.push(id);
      else taken.add(style);
    }
    let next = 0;
    for (const id of without) {
      while (taken.has(next)) ++next;
      taken.add(next);
      this.styles.set(id, next);
    }
    for (const line of lines) line.style = this.styles.get(line.id);
  }

  operations() {
    const counts = new Map();
    for (const line of this.group.lines) {
      for (const metric of line.metrics.values()) {
        const count = metric.latency ? metric.latency.count : 0;
        counts.set(metric.name, (counts.get(metric.name) || 0) + count);
      }
    }
    // What the threads did at their end is no operation on the store.
    counts.delete("CLEANUP");
    return [...counts].filter(([, count]) => count > 0)
        .sort((a, b) => (b[0] === "READ") - (a[0] === "READ") || b[1] - a[1]).map(([name]) => name);
  }

  choose(change) {
    Object.assign(this, change);
    this.draw();
  }

  groupFacets() {
    const parts = [];
    const pick = (name, of) => {
      const values = [...new Set(this.groups.map(of))];
      if (values.length < 2) return;
      const now = of(this.group);
      parts.push(facetPart(name, values.map((value) => chip(value, value === now, () => {
        const score = (group) => (group.workload === this.group.workload) +
            (group.size === this.group.size) + (group.phase === this.group.phase);
        const fitting = this.groups.filter((group) => of(group) === value);
        this.choose({group: fitting.sort((a, b) => score(b) - score(a))[0]});
      }))));
    };
    pick("Phase", (group) => group.phase);
    pick("Workload", (group) => group.workload);
    pick("Value", (group) => group.size);
    return parts;
  }

  lineFacets() {
    return facets.map((facet) => {
      const values = unique(this.lines.map(facet.of));
      if (values.length < 2) return null;
      const hidden = this.hidden.get(facet.name);
      return facetPart(facet.name, values.map((value) => chip(value, !hidden.has(value), () => {
        if (!hidden.delete(value)) hidden.add(value);
        if (hidden.size === values.length) hidden.clear();
        this.draw();
      })));
    }).filter(Boolean);
  }

  viewFacets(operations) {
    const parts = [];
    if (operations.length > 1) {
      parts.push(facetPart("Operation", operations.map((name) =>
        chip(name, name === this.operation, () => this.choose({operation: name})))));
    }
    if (this.group.lines.some((line) =>
      [...line.metrics.values()].some((metric) => metric.intended))) {
      parts.push(facetPart("Latency", [
        chip("of the call", !this.from_schedule, () => this.choose({from_schedule: false})),
        chip("from the schedule", this.from_schedule, () => this.choose({from_schedule: true})),
      ]));
    }
    if (this.labels.length > 1) {
      const select = node("select", {"aria-label": "Baseline"},
          node("option", {value: ""}, "none"),
          this.labels.map((label) =>
            node("option", {value: label, selected: label === this.baseline}, label)));
      select.addEventListener("change", () => this.choose({baseline: select.value}));
      parts.push(facetPart("Baseline", [select]));
    }
    return parts;
  }

  drawFilters(operations) {
    const filters = document.getElementById("filters");
    const focus = [...filters.querySelectorAll("button, select")].indexOf(document.activeElement);
    filters.replaceChildren(...this.groupFacets(), ...this.viewFacets(operations),
        ...this.lineFacets());
    filters.hidden = filters.childElementCount === 0;
    if (focus >= 0) {
      const again = filters.querySelectorAll("button, select")[focus];
      if (again) again.focus();
    }
  }

  drawOverview() {
    const part = section("overview", this.groups.length > 1);
    if (part.hidden) return;
    part.querySelector(".scroll").replaceChildren(overviewTable(
        this.groups, this.keep, this.baseline, this.group, (key) => {
          this.choose({group: this.groups.find((group) => group.key === key)});
          document.getElementById("headline").scrollIntoView();
        }));
  }

  drawHeadline(lines, view) {
    const part = section("headline", true);
    part.querySelector("h2").textContent = groupName(this.group);
    const more = lines.length > view.shown.size
      ? ` ${view.shown.size} of ${lines.length} lines are drawn below; tick others to see them.`
      : "";
    const shared = sharedSettings(lines, this.lines);
    part.querySelector(".lead").textContent = (shared ? `All of them: ${shared}. ` : "") +
        (view.operation ? `Latency of ${view.operation}, ` +
        (view.from_schedule ? "from the schedule where there was one"
          : "from the call to its end") +
        "." : "No operation was measured.") +
        (view.compared ? " Below a figure: how many times the baseline's in the same setting."
          : "") + more;
    part.querySelector(".scroll").replaceChildren(headlineTable(lines, view, (id, ticked) => {
      this.ticked.set(id, ticked);
      this.draw();
    }));
    part.querySelector(".notes").replaceChildren(...notesOf(lines));
  }

  draw() {
    forgetCharts();
    nameLines(this.lines.filter(this.keep));
    const operations = this.operations();
    if (!operations.includes(this.operation)) this.operation = operations[0] || "";
    this.drawFilters(operations);
    this.drawOverview();
    const lines = this.group.lines.filter(this.keep);
    const view = {
      operation: this.operation, from_schedule: this.from_schedule, shown: this.shown(lines),
      all: this.group.lines, baseline: this.baseline,
      compared: this.group.lines.some((line) => line.label === this.baseline),
    };
    this.giveStyles(lines, view.shown);
    this.drawHeadline(lines, view);
    const shown = lines.filter((line) => view.shown.has(line.id));
    drawRates(shown);
    drawPercentiles(shown, view);
    drawCurves(shown, view);
    drawShapes(shown, view);
    drawIntended(shown, view);
    drawTime(shown, view);
    drawCosts(shown, view);
    this.drawRuns(lines);
  }

  // All of them, once; or, where nobody would find anything among so many, those of `lines`.
  drawRuns(lines) {
    const all = this.runs.length <= most_runs_together;
    if (all && this.runs_drawn) return;
    this.runs_drawn = true;
    const part = section("runs", true);
    part.querySelector(".lead").textContent = "All that is known of how " +
        (all ? "these were made." : "those of the workload above were made.");
    document.getElementById("each").replaceChildren(
        ...(all ? this.runs : lines.flatMap((line) => line.runs)).map(runPart));
  }
}

function summary(runs) {
  const stores = unique(runs.map((run) => run.store || run.binding));
  const days = unique(runs.map((run) => run.started.slice(0, 10)).filter(Boolean));
  const releases = unique(runs.map((run) => run.release).filter(Boolean));
  return [
    `${plural(runs.length, "run", "runs")} of ${plural(stores.length, "store", "stores")}`,
    days.length > 1 ? `${days[0]} to ${days[days.length - 1]}` : days[0],
    releases.length ? `kvbench ${releases.join(", ")}` : "",
  ].filter(Boolean).join(" \u00b7 ");
}

function chooseTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

function start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const runs = list(data.runs).map(readRun);
  document.getElementById("summary").textContent = summary(runs);
  document.getElementById("theme").addEventListener("click", chooseTheme);
  document.getElementById("page").hidden = false;
  const page = new Page(runs, String(data.baseline || ""));
  page.draw();
  document.getElementById("hosts").replaceChildren(...hostsPart(runs));
}

try {
  start();
} catch (error) {
  const failure = document.getElementById("failure");
  failure.textContent = `This page could not be drawn: ${error.message}`;
  failure.hidden = false;
  throw error;
}
