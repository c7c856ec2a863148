// The tables: all workloads at a glance, one workload in full, and the runs behind them.

function ratioText(value, base) {
  return known(value) && known(base) && base > 0 ? formatRatio(value / base) : "";
}

function sub(words) {
  return words ? node("span", {class: "sub"}, words) : null;
}

function groupName(group) {
  return `${group.workload}${group.phase === "load" ? ", load" : ""}, ${group.size}`;
}

// Rows are lines by name, columns groups. `keep(line)` says which lines are shown.
function overviewTable(groups, keep, baseline, current, choose) {
  const by_name = collect(groups.flatMap((group) =>
    group.lines.filter(keep).map((line) => ({group, line}))), (each) => each.line.name);
  const names = [...by_name.keys()].sort(compareNames);
  const best_of = new Map(groups.map((group) =>
    [group, greatest(group.lines.filter(keep).map((line) => line.rate.median))]));
  const head = groups.map((group) => node("th", {scope: "col"}, node("button", {
    type: "button", "data-group": group.key, "aria-pressed": String(group === current),
  }, group.workload, sub(`${group.phase === "load" ? "load, " : ""}${group.size}`))));
  const table = node("table", {},
      node("thead", {}, node("tr", {}, node("th", {scope: "col"}, "Store"), head)),
      node("tbody", {}, names.map((name) => {
        const cells = new Map(by_name.get(name).map((each) => [each.group, each.line]));
        const is_base = by_name.get(name)[0].line.label === baseline;
        return node("tr", {class: is_base ? "baseline" : null},
            node("th", {scope: "row"}, name), groups.map((group) => {
              const line = cells.get(group);
              if (!line) return node("td", {}, unknown);
              const base = baseOf(line, group.lines, baseline);
              return node("td", {class: line.rate.median === best_of.get(group) ? "best" : null},
                  formatRate(line.rate.median), sub(is_base ? "baseline"
                    : base ? ratioText(line.rate.median, base.rate.median) : ""));
            }));
      })));
  table.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-group]");
    if (button) choose(button.dataset.group);
  });
  return table;
}

function latencyOf(line, view) {
  const metric = line.metrics.get(view.operation);
  if (!metric) return null;
  return view.from_schedule ? metric.intended || metric.latency : metric.latency;
}

function lineDetails(line) {
  return [line.name.endsWith(line.told) ? "" : line.told,
    line.store === line.label ? "" : line.store].filter(Boolean).join("; ");
}

function headlineRow(line, view, toggle) {
  const base = baseOf(line, view.all, view.baseline);
  const latency = latencyOf(line, view);
  const base_latency = base ? latencyOf(base, view) : null;
  const is_base = line.label === view.baseline;
  const box = node("input", {type: "checkbox", checked: view.shown.has(line.id)});
  box.addEventListener("change", () => toggle(line.id, box.checked));
  const cell = (name, text, below) => node("td", {"data-name": name}, text, sub(below));
  const rate = line.rate;
  return node("tr", {
    class: [is_base ? "baseline" : "", view.shown.has(line.id) ? "" : "off"].join(" ").trim() ||
        null,
  },
  node("th", {scope: "row"}, node("label", {}, box,
      view.shown.has(line.id) ? swatch(line.style) : node("span"),
      node("span", {}, line.name, sub(lineDetails(line))))),
  cell("Throughput", formatRate(rate.median), line.runs.length > 1
    ? `${formatCount(rate.low)} to ${formatCount(rate.high)}` : "one run"),
  view.compared ? cell("To baseline", is_base ? "baseline"
    : base ? ratioText(rate.median, base.rate.median) : unknown) : null,
  [50, 99, 99.9].map((percent) => cell(formatPercent(percent),
      formatNanos(percentile(latency, percent)),
      is_base ? "" : ratioText(percentile(latency, percent), percentile(base_latency, percent)))),
  cell("CPU, client", formatNanos(line.cost.client_cpu * 1e-6)),
  cell("CPU, server", formatNanos(line.cost.server_cpu * 1e-6)),
  cell("Driver", formatNanos(line.cost.driver)),
  cell("Runs", String(line.runs.length)));
}

// What `view` holds: operation, from_schedule, shown (names of lines), all (lines of the group),
// baseline (a label), compared (whether there is a line of that label).
function headlineTable(lines, view, toggle) {
  const columns = [
    ["Throughput", "slowest to fastest run"], view.compared ? ["To baseline", ""] : null,
    ["p50", view.operation], ["p99", view.operation], ["p99.9", view.operation],
    ["CPU, client", "an operation"], ["CPU, server", "an operation"],
    ["Driver", "an operation"], ["Runs", ""],
  ].filter(Boolean);
  return node("table", {},
      node("thead", {}, node("tr", {}, node("th", {scope: "col"}, "Store"),
          columns.map(([name, below]) => node("th", {scope: "col"}, name, sub(below))))),
      node("tbody", {}, lines.map((line) => headlineRow(line, view, toggle))));
}

function fastestMedian(line) {
  return least([...line.metrics.values()].filter((each) => each.name !== "CLEANUP")
      .map((each) => (each.latency ? percentile(each.latency, 50) : Infinity)));
}

function notesOf(lines) {
  const notes = [];
  for (const line of lines) {
    for (const metric of line.metrics.values()) {
      const share = notOk(metric);
      if (share > 0) {
        const what = [...metric.returns].filter(([name]) => name !== "OK")
            .map(([name, count]) => `${name} ${count.toLocaleString("en")}`).join(", ");
        notes.push([true, `${line.name}: ${formatShare(share)} of ${metric.name} did not end in ` +
            `OK (${what}).`]);
      }
    }
  }
  const hurried = lines.filter((line) => line.cost.driver > 0.2 * fastestMedian(line));
  if (hurried.length > 0) {
    notes.push([true, "The driver itself takes a noticeable part: " + hurried.map((line) =>
      `${line.name}, ${formatNanos(line.cost.driver)} beside a median of ` +
      formatNanos(fastestMedian(line))).join("; ") + "."]);
  }
  if (lines.some((line) => line.batch > 1)) {
    notes.push([false, "Where several operations are in one call, the latency of each is that of " +
        "the whole call."]);
  }
  for (const [remark, by] of collect(lines.flatMap((line) =>
    line.remarks.map((remark) => ({remark, name: line.name}))), (each) => each.remark)) {
    const names = by.length === lines.length ? "all"
      : by.length > 4 ? `${by.length} of ${lines.length} lines`
        : by.map((each) => each.name).join("; ");
    notes.push([false, `${remark} (${names})`]);
  }
  return notes.map(([warn, text]) => node("li", {class: warn ? "warn" : null}, text));
}

function definitions(pairs) {
  return node("dl", {}, pairs.filter(([, value]) => value !== "" && value !== undefined)
      .flatMap(([name, value]) => [node("dt", {}, name), node("dd", {}, value)]));
}

function hostPairs(host) {
  return [
    ["Processor", String(host.processor || "")],
    ["Cores", number(host.cores) ? String(number(host.cores)) : ""],
    ["Memory", number(host.memoryBytes) ? formatBytes(number(host.memoryBytes)) : ""],
    ["Kernel", String(host.kernel || "")],
  ];
}

function hostsPart(runs) {
  const hosts = [...collect(runs, (run) => JSON.stringify(run.host)).values()];
  return hosts.map((members) => definitions([...hostPairs(members[0].host),
    ["Runs", hosts.length > 1 ? String(members.length) : ""]]));
}

function runPart(run) {
  const operations = run.metrics.map((each) => [each.name, [
    each.latency ? plural(each.latency.count, "operation", "operations") : "",
    each.latency ? `mean ${formatNanos(each.latency.mean)}` : "",
    each.latency ? `most ${formatNanos(each.latency.max)}` : "",
    each.returns.map(([name, count]) => `${name} ${count.toLocaleString("en")}`).join(", "),
  ].filter(Boolean).join("; ")]);
  const cost = run.cost;
  const details = node("details", {}, node("summary", {}, run.label,
      node("span", {class: "sub"}, `${run.workload}, ${run.phase}, ${run.size}; ` +
          `${formatRate(run.rate)}; ${run.started}`)));
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("dl")) return;
    details.append(definitions([
      ["Store", run.store], ["Binding", run.binding], ["Released as", run.release],
      ["Threads, batch", `${run.threads}, ${run.batch}`],
      ["Target", run.target ? formatRate(run.target) : "as fast as it goes"],
      ["Took", `${formatNanos(run.seconds * 1e9)} for ` +
          plural(run.operations, "operation", "operations")],
      ...operations,
      ["Round trips, verbs", known(cost.verbs)
        ? `${formatPlain(cost.round_trips)}, ${formatPlain(cost.verbs)} an operation` : ""],
      ["Server's memory", known(cost.server_memory) ? formatBytes(cost.server_memory) : ""],
      ...run.remarks.map((remark) => ["Remark", remark]),
      ...Object.entries(run.properties).sort(([a], [b]) => compareNames(a, b)),
    ]));
  });
  return details;
}
