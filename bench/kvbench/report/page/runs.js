// From the runs as kvbench left them (results.proto as JSON) to what is drawn: groups of lines, a
// line being the repeated runs of one store in one setting.

// 64-bit and not finite numbers are strings in protobuf's JSON, and zeros are left out.
function number(value) {
  const result = Number(value === undefined || value === null ? 0 : value);
  return Number.isFinite(result) ? result : 0;
}

function list(value) {
  return Array.isArray(value) ? value : [];
}

function readDistribution(found) {
  if (!found || number(found.count) === 0) return null;
  return {
    count: number(found.count),
    min: number(found.min),
    mean: number(found.mean),
    max: number(found.max),
    percentiles: new Map(
        list(found.percentiles).map((each) => [number(each.percent), number(each.nanos)])),
    steps: list(found.steps)
        .map((each) => [number(each.uptoNanos), number(each.count)])
        .filter((each) => each[1] > 0)
        .sort((a, b) => a[0] - b[0]),
  };
}

function readMetric(found) {
  return {
    name: String(found.name || ""),
    latency: readDistribution(found.latency),
    intended: readDistribution(found.intended),
    returns: Object.entries(found.returns || {}).map(([name, count]) => [name, number(count)]),
  };
}

function readInterval(found) {
  return {
    end: number(found.endSeconds),
    rate: number(found.operationsPerSecond),
    metrics: new Map(list(found.metrics).map((each) => [String(each.name || ""), {
      count: number(each.count),
      p50: number(each.p50Nanos),
      p99: number(each.p99Nanos),
      max: number(each.maxNanos),
    }])),
  };
}

function readCost(found) {
  const cost = found || {};
  const server = cost.serverKnown === true;
  const fabric = cost.fabricKnown === true;
  const orUnknown = (is_known, value) => (is_known ? number(value) : NaN);
  const positive = (value) => (number(value) > 0 ? number(value) : NaN);
  return {
    client_cpu: positive(cost.clientCpuUsPerMillion) * 1e3,
    server_cpu: orUnknown(server, cost.serverCpuUsPerMillion) * 1e3,
    server_memory: orUnknown(server, cost.serverMemoryBytes),
    record_memory: positive(cost.memoryBytesPerRecord),
    round_trips: orUnknown(fabric, cost.roundTripsPerOperation),
    verbs: orUnknown(fabric, cost.verbsPerOperation),
    driver: positive(cost.driverNanos),
  };
}

// YCSB's own defaults, where the properties say nothing.
function recordSize(properties) {
  const count = number(properties.fieldcount || 10);
  const length = number(properties.fieldlength || 100);
  const size = length >= 1024 && length % 1024 === 0 ? `${length / 1024} KiB` : `${length} B`;
  return {size: count === 1 ? size : `${count} \u00d7 ${size}`, bytes: count * length};
}

function readRun(found, index) {
  const properties = found.properties || {};
  return {
    index,
    label: String(found.label || found.store || found.binding || "unnamed"),
    binding: String(found.binding || ""),
    store: String(found.store || ""),
    phase: String(found.phase || "run"),
    workload: String(found.workload || "custom"),
    ...recordSize(properties),
    properties,
    started: String(found.started || ""),
    threads: number(found.threads) || 1,
    batch: number(found.batch) || 1,
    target: number(found.target),
    seconds: number(found.seconds),
    operations: number(found.operations),
    rate: number(found.operationsPerSecond),
    metrics: list(found.metrics).map(readMetric),
    intervals: list(found.intervals).map(readInterval).sort((a, b) => a.end - b.end),
    cost: readCost(found.cost),
    host: found.host || {},
    release: String(found.release || ""),
    remarks: list(found.remarks).map(String),
    // How it was set up, in the words of whoever did: not what went on during the run.
    remark: String(properties["kvbench.remark"] || ""),
  };
}

function median(values) {
  const sorted = values.filter(known).sort((a, b) => a - b);
  if (sorted.length === 0) return NaN;
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function spread(values) {
  const found = values.filter(known);
  return {median: median(found), low: least(found), high: greatest(found)};
}

// What took at most so long that `percent` of the operations did not take longer.
function percentile(distribution, percent) {
  if (!distribution) return NaN;
  const given = distribution.percentiles.get(percent);
  if (given !== undefined) return given;
  const wanted = distribution.steps.reduce((sum, each) => sum + each[1], 0) * percent / 100;
  let seen = 0;
  for (const [upto, count] of distribution.steps) {
    seen += count;
    if (seen >= wanted) return upto;
  }
  return NaN;
}

// Of several runs as if they were one. The percentiles are the medians of the runs'.
function mergeDistributions(found) {
  const all = found.filter(Boolean);
  if (all.length < 2) return all[0] || null;
  const count = all.reduce((sum, each) => sum + each.count, 0);
  const percents = new Set(all.flatMap((each) => [...each.percentiles.keys()]));
  return {
    count,
    min: least(all.map((each) => each.min)),
    mean: all.reduce((sum, each) => sum + each.mean * each.count, 0) / count,
    max: greatest(all.map((each) => each.max)),
    percentiles: new Map([...percents].map(
        (percent) => [percent, median(all.map((each) => percentile(each, percent)))])),
    steps: all.flatMap((each) => each.steps).sort((a, b) => a[0] - b[0]),
  };
}

function mergeMetrics(runs) {
  const merged = new Map();
  for (const name of new Set(runs.flatMap((run) => run.metrics.map((each) => each.name)))) {
    const found = runs.flatMap((run) => run.metrics.filter((each) => each.name === name));
    const returns = new Map();
    for (const [what, count] of found.flatMap((each) => each.returns)) {
      returns.set(what, (returns.get(what) || 0) + count);
    }
    merged.set(name, {
      name,
      latency: mergeDistributions(found.map((each) => each.latency)),
      intended: mergeDistributions(found.map((each) => each.intended)),
      returns,
    });
  }
  return merged;
}

function middleRun(runs) {
  return [...runs].sort((a, b) => a.rate - b.rate)[Math.floor((runs.length - 1) / 2)];
}

function makeLine(runs) {
  const first = runs[0];
  const cost = {};
  for (const name of Object.keys(first.cost)) {
    cost[name] = median(runs.map((run) => run.cost[name]));
  }
  return {
    label: first.label,
    store: first.store,
    binding: first.binding,
    threads: first.threads,
    batch: first.batch,
    target: first.target,
    remark: first.remark,
    runs,
    rate: spread(runs.map((run) => run.rate)),
    metrics: mergeMetrics(runs),
    middle: middleRun(runs),
    cost,
    remarks: [...new Set(runs.flatMap((run) => run.remarks))],
  };
}

function collect(items, key_of) {
  const found = new Map();
  for (const item of items) {
    const key = key_of(item);
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(item);
  }
  return found;
}

const compareNames = (a, b) => a.localeCompare(b, "en", {numeric: true});

const settings = [
  ["threads", (line) => plural(line.threads, "thread", "threads")],
  ["batch", (line) => (line.batch === 1 ? "one by one" : `${line.batch} at a time`)],
  ["target", (line) => (line.target ? `target ${tickText(formatRate(line.target))}`
    : "no target")],
  ["remark", (line) => line.remark || "no remark"],
];

// In words, those settings in which `lines` differ from each other.
function settingsOf(line, lines) {
  return settings.filter(([name]) => new Set(lines.map((each) => each[name])).size > 1)
      .map(([, text]) => text(line)).join(", ");
}

// Those in which `lines` are the same, and others of `all` are not.
function sharedSettings(lines, all) {
  const values = (name, among) => new Set(among.map((each) => each[name])).size;
  return settings.filter(([name]) => values(name, lines) === 1 && values(name, all) > 1)
      .map(([, text]) => text(lines[0])).join(", ");
}

// What tells each line from all others, whatever is shown.
function identifyLines(lines) {
  for (const line of lines) {
    line.setting = settingsOf(line, lines);
    line.id = JSON.stringify([line.label, line.setting]);
  }
}

// The same label in several settings has to be told apart by them. Settings that all of these lines
// share are not in the names.
function nameLines(lines) {
  const by_label = collect(lines, (line) => line.label);
  for (const line of lines) {
    line.told = settingsOf(line, lines);
    const same = by_label.get(line.label);
    line.name = same.some((each) => each.setting !== line.setting)
      ? `${line.label}, ${settingsOf(line, lines)}` : line.label;
  }
}

// Groups, each with its lines, the fastest first.
function makeGroups(runs) {
  const group_key = (run) => JSON.stringify([run.phase, run.workload, run.size]);
  const line_key = (run) => JSON.stringify(
      [run.label, run.threads, run.batch, run.target, run.remark]);
  const groups = [...collect(runs, group_key).entries()].map(([key, members]) => ({
    key,
    phase: members[0].phase,
    workload: members[0].workload,
    size: members[0].size,
    bytes: members[0].bytes,
    lines: [...collect(members, line_key).values()].map(makeLine)
        .sort((a, b) => b.rate.median - a.rate.median),
  }));
  groups.sort((a, b) => (a.phase === "load" ? 1 : 0) - (b.phase === "load" ? 1 : 0) ||
      compareNames(a.workload, b.workload) || a.bytes - b.bytes);
  identifyLines(groups.flatMap((group) => group.lines));
  return groups;
}

// What a line is compared with: the baseline's line of the same settings; the baseline's only one,
// if it was measured in one setting alone.
function baseOf(line, lines, baseline) {
  const found = lines.filter((each) => each.label === baseline);
  return found.find((each) => each.setting === line.setting) ||
      (found.length === 1 ? found[0] : null);
}

function notOk(metric) {
  let all = 0;
  let failed = 0;
  for (const [name, count] of metric.returns) {
    all += count;
    if (name !== "OK") failed += count;
  }
  return all > 0 ? failed / all : 0;
}
