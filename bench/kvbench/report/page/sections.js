// The charts of one workload, from its lines. Each part is hidden where there is nothing to draw.

function section(id, visible) {
  const element = document.getElementById(id);
  element.hidden = !visible;
  return element;
}

function drawRates(lines) {
  const part = section("rates", lines.length > 1 || lines.some((line) => line.runs.length > 1));
  if (part.hidden) return;
  dotRows(part.querySelector("figure"), lines.map((line) => ({
    name: line.name, style: line.style, marks: [{
      name: plural(line.runs.length, "run", "runs"), value: line.rate.median,
      low: line.rate.low, high: line.rate.high, form: "circle",
    }],
  })), {
    format: formatRate, label: "Throughput by store",
    value_of: (row) => formatRate(row.marks[0].value), value_name: "median",
  });
}

const percents = [[50, "circle"], [99, "diamond"], [99.9, "triangle"]];

function drawPercentiles(lines, view) {
  const measured = lines.filter((line) => latencyOf(line, view));
  const part = section("percentiles", measured.length > 0);
  if (part.hidden) return;
  part.querySelector(".lead").textContent = `${view.operation}; ` + (view.from_schedule
    ? "from when the schedule had it begin, where there was one, to its end."
    : "from the call to its end.") + " Of several runs, the median.";
  dotRows(part.querySelector("figure"), measured.map((line) => ({
    name: line.name, style: line.style, marks: percents.map(([percent, form]) => ({
      name: formatPercent(percent), value: percentile(latencyOf(line, view), percent), form,
    })),
  })), {
    format: formatNanos, label: `Latency percentiles of ${view.operation} by store`,
    legend_items: percents.map(([percent, form]) =>
      ({name: formatPercent(percent), mark: legendMark(form, false)})),
    value_of: (row) => formatNanos(row.marks[1].value), value_name: "p99",
  });
}

// [nines, nanos]: nines is how many nines the share of operations that took no longer has: 99 % has
// two.
function ninesOf(distribution) {
  const all = distribution.steps.reduce((sum, each) => sum + each[1], 0);
  const points = [[0, Math.max(distribution.min, 1)]];
  let seen = 0;
  for (const [upto, count] of distribution.steps) {
    // The step's last operation is where its time is sure; the very last has no share beyond it.
    seen += count;
    const beyond = Math.max(1 - seen / all, 0.5 / all);
    const nines = -Math.log10(beyond);
    points.push([points[points.length - 1][0], upto], [nines, upto]);
  }
  return points;
}

function ninesAxis(most) {
  return (start, end) => {
    const scale = (nines) => start + Math.min(nines, most) / most * (end - start);
    scale.ticks = [0, -Math.log10(0.5)];
    for (let nines = 1; nines <= most; ++nines) scale.ticks.push(nines);
    return scale;
  };
}

function formatNines(nines, long) {
  const percent = 100 * (1 - 10 ** -nines);
  const digits = Math.max(0, Math.ceil(nines) - 2);
  const words = nines === 0 ? "0 %"
    : `${Number(percent.toFixed(Math.max(digits, long ? 2 : 0)))} %`;
  return long ? `${words} took at most` : words;
}

function drawCurves(lines, view) {
  const measured = lines.filter((line) => {
    const distribution = latencyOf(line, view);
    return distribution && distribution.steps.length > 0;
  });
  const part = section("curve", measured.length > 0);
  if (part.hidden) return;
  const curves = measured.map((line) => ({
    name: line.name, style: line.style, points: ninesOf(latencyOf(line, view)),
  }));
  const most = Math.max(2, ...curves.map((curve) => curve.points[curve.points.length - 1][0]));
  const stops = [];
  for (let nines = 0; nines <= most + 1e-9; nines += most / 60) stops.push(nines);
  lineChart(part.querySelector("figure"), curves, {
    x_axis: ninesAxis(most), format_x: formatNines, y_log: true, format_y: formatNanos,
    label: `Latency of ${view.operation} by percentile`, stops, reach: most, height: 380,
  });
}

function drawShapes(lines, view) {
  const measured = lines.map((line) => ({
    name: line.name, style: line.style, distribution: latencyOf(line, view),
  })).filter((row) => row.distribution && row.distribution.steps.length > 0);
  const part = section("shape", measured.length > 0);
  if (part.hidden) return;
  densityRows(part.querySelector("figure"), measured, {
    format: formatNanos, label: `Distribution of the latency of ${view.operation} by store`,
  });
}

function drawIntended(lines, view) {
  const measured = lines.filter((line) => {
    const metric = line.metrics.get(view.operation);
    return metric && metric.intended && metric.latency;
  });
  const part = section("intended", measured.length > 0);
  if (part.hidden) return;
  const rows = measured.flatMap((line) => percents.map(([percent, form]) => {
    const {latency, intended} = line.metrics.get(view.operation);
    return {
      name: `${line.name}, ${formatPercent(percent)}`, style: line.style, marks: [
        {name: "the call alone", value: percentile(latency, percent), form, hollow: true},
        {name: "from the schedule", value: percentile(intended, percent), form},
      ],
    };
  }));
  dotRows(part.querySelector("figure"), rows, {
    format: formatNanos, label: `Latency of ${view.operation}, of the call and from the schedule`,
    legend_items: [
      {name: "the call alone", mark: legendMark("circle", true)},
      {name: "from the schedule", mark: legendMark("circle", false)},
    ],
    value_of: (row) => formatRatio(row.marks[1].value / row.marks[0].value), value_name: "times",
  });
}

// The same load takes a fast store a hundredth of the time: beside a slow one it would be a dot.
// Runs of very different lengths are drawn by the share of each that has passed.
function timeAxis(lines) {
  const lengths = lines.map((line) => line.middle.intervals[line.middle.intervals.length - 1].end);
  const longest = greatest(lengths);
  if (longest < 3 * least(lengths)) {
    return {
      longest, place: (run, end) => end, note: "",
      format: (at, long) => (long ? `${significant(at, 3)} s after the start`
        : `${Number(at.toFixed(2))} s`),
    };
  }
  return {
    longest: 100, place: (run, end) => end / run.intervals[run.intervals.length - 1].end * 100,
    note: " They took very different times, hence each by the share that has passed: from " +
        `${formatNanos(least(lengths) * 1e9)} to ${formatNanos(longest * 1e9)}.`,
    format: (at, long) => `${Number(at.toFixed(1))} %${long ? " of the run" : ""}`,
  };
}

function overTime(lines, axis, value_of) {
  return lines.map((line) => ({
    name: line.name, style: line.style,
    points: line.middle.intervals
        .map((each) => [axis.place(line.middle, each.end), value_of(each)])
        .filter((point) => known(point[1])),
  })).filter((line) => line.points.length > 0);
}

function drawTime(lines, view) {
  const measured = lines.filter((line) => line.middle.intervals.length > 1);
  const part = section("time", measured.length > 0);
  if (part.hidden) return;
  const [rates, tails] = part.querySelectorAll("figure");
  const axis = timeAxis(measured);
  part.querySelector(".lead").textContent =
      "Of each line the run with the median throughput." + axis.note;
  const stops = measured.map((line) => line.middle)
      .reduce((best, run) => (run.intervals.length > best.intervals.length ? run : best));
  const common = {
    x_axis: (start, end) => linear(0, axis.longest, start, end), format_x: axis.format, height: 230,
    stops: stops.intervals.map((each) => axis.place(stops, each.end)),
    reach: axis.longest / stops.intervals.length * 1.5,
  };
  const rate_lines = overTime(measured, axis, (each) => each.rate);
  const found = rate_lines.flatMap((line) => line.points.map((point) => point[1]))
      .filter((rate) => rate > 0);
  lineChart(rates, rate_lines, {
    ...common, title: "Operations a second", format_y: formatRate, label: "Throughput over time",
    y_log: greatest(found) > 20 * least(found),
  });
  const tail_lines = overTime(measured, axis, (each) => {
    const metric = each.metrics.get(view.operation);
    return metric && metric.p99 > 0 ? metric.p99 : NaN;
  });
  tails.hidden = tail_lines.length === 0;
  if (tails.hidden) return;
  lineChart(tails, tail_lines, {
    ...common, format_y: formatNanos, y_log: true,
    // As kvbench measures it: with a target rate from when the schedule had the operation begin.
    title: `p99 of ${view.operation} in each interval` +
        (measured.some((line) => line.target > 0) ? ", from the schedule where there was one" : ""),
    label: "99th percentile of the latency over time",
  });
}

function drawCosts(lines, view) {
  const part = section("cost", lines.length > 0);
  const grid = part.querySelector(".grid");
  grid.replaceChildren();
  if (part.hidden) return;
  part.querySelector(".lead").textContent = "Medians of each line's runs; without the lines for " +
      "which a figure is not known. The server's CPU is all that its process took, at rest " +
      "as well. The driver is kvbench itself: the same operations on a store that does nothing.";
  const panel = (title, format, parts_of, apart = false) => {
    const rows = lines.map((line) => ({name: line.name, style: line.style, parts: parts_of(line)}))
        .filter((row) => row.parts.some((each) => known(each.value)));
    if (rows.length === 0) return;
    const place = node("div", {class: "panel"});
    grid.append(place);
    barRows(place, rows, {title, format, label: title, apart});
  };
  const cost = (name, field, factor = 1) => (line) =>
    ({name, value: line.cost[field] * factor});
  const parts = (...makers) => (line) => makers.map((make) => make(line));
  panel("CPU of a million operations", formatNanos,
      parts(cost("client", "client_cpu"), cost("server", "server_cpu")));
  panel("Memory of a record", formatBytes, parts(cost("memory", "record_memory")));
  panel("Round trips of an operation", formatPlain, parts(cost("round trips", "round_trips")));
  panel("Verbs of an operation", formatPlain, parts(cost("verbs", "verbs")));
  panel(`Mean latency of ${view.operation}, and the driver's own time`, formatNanos, (line) => {
    const latency = latencyOf(line, view);
    return [{name: "mean latency", value: latency ? latency.mean : NaN},
      {name: "driver", value: line.cost.driver}];
  }, true);
}
