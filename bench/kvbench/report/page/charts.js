// The forms of chart on the page. Each is drawn for the width that there is, and again when that
// changes.

const drawn = new Map();
const widths = new ResizeObserver((entries) => {
  for (const {target} of entries) {
    const chart = drawn.get(target);
    const width = Math.floor(target.clientWidth);
    if (chart && width > 0 && width !== chart.width) redraw(target, chart, width);
  }
});

function redraw(place, chart, width) {
  chart.width = width;
  place.replaceChildren(...chart.draw(width).filter(Boolean));
}

function show(place, draw) {
  const chart = {draw, width: 0};
  drawn.set(place, chart);
  widths.observe(place);
  redraw(place, chart, Math.max(260, Math.floor(place.clientWidth)));
}

// Before a page is drawn anew, as its places may be others.
function forgetCharts() {
  widths.disconnect();
  drawn.clear();
}

function legend(items) {
  return node("div", {class: "legend"},
      items.map((item) => node("span", {}, item.mark, item.name)));
}

function legendMark(form, hollow) {
  return mark("svg", {width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true"},
      mark("path", {
        d: forms[form](4.5),
        style: hollow ? "fill: none; stroke: currentColor; stroke-width: 2" : "fill: currentColor",
      }));
}

// Where rows have their names: beside the marks, or above them where it is narrow.
function rowPlaces(width, rows, row_height) {
  const longest = greatest(rows.map((row) => textWidth(row.name)));
  const beside = width >= 560;
  const left = beside ? Math.min(width * 0.36, longest + 18) : 8;
  const height = beside ? row_height : row_height + 20;
  return {
    left,
    height,
    center: (i) => 8 + i * height + (beside ? height / 2 : height / 2 + 8),
    name: (i) => {
      const room = beside ? left - 12 : width - 16;
      const attributes = beside
        ? {x: left - 12, y: 8 + i * height + height / 2 + 4, "text-anchor": "end"}
        : {x: left, y: 8 + i * height + 14};
      return mark("text", {class: "row-name", ...attributes}, shortened(rows[i].name, room),
          mark("title", {}, rows[i].name));
    },
    bottom: 8 + rows.length * height,
  };
}

function exploreRows(svg, rows, places, width, lines_of) {
  const band = mark("rect", {
    class: "active", x: 0, width, height: places.height, rx: 3, visibility: "hidden",
  });
  svg.prepend(band);
  explore(svg, rows.map((row, i) => ({x: places.left + 40, y: places.center(i)})),
      (x, y) => Math.max(0, Math.min(rows.length - 1, Math.floor((y - 8) / places.height))),
      (i) => {
        band.setAttribute("y", 8 + i * places.height);
        band.setAttribute("visibility", "visible");
        return {title: rows[i].name, lines: lines_of(rows[i])};
      },
      () => band.setAttribute("visibility", "hidden"));
}

// Rows of {name, style, marks: [{name, value, low, high, form, hollow}]} on a logarithmic axis.
function dotRows(place, rows, {format, label, legend_items, value_of, value_name}) {
  show(place, (width) => {
    const places = rowPlaces(width, rows, 30);
    const right = value_of && width >= 560 ? 78 : 18;
    const svg = canvas(width, places.bottom + 26, label);
    const values = rows.flatMap((row) =>
      row.marks.flatMap((each) => [each.value, each.low, each.high]));
    const x = logarithmic(...logEnds(values), places.left, width - right);
    axisBelow(svg, x, 4, places.bottom, format);
    if (value_name && width >= 560) {
      svg.append(mark("text", {x: width, y: places.bottom + 17, "text-anchor": "end"}, value_name));
    }
    rows.forEach((row, i) => {
      const y = places.center(i);
      const shown = row.marks.filter((each) => known(each.value) && each.value > 0);
      svg.append(places.name(i));
      const reach = shown.flatMap((each) => [each.value, each.low, each.high]).filter(known);
      if (reach.length > 1) {
        svg.append(mark("line", {
          x1: x(least(reach)), x2: x(greatest(reach)), y1: y, y2: y,
          style: `stroke: ${colorOf(row.style)}; stroke-width: 2; opacity: 0.55`,
        }));
      }
      for (const each of shown) {
        svg.append(dot(x(each.value), y, each.form, row.style, each.hollow));
      }
      if (shown.length === 0) {
        svg.append(mark("text", {x: places.left, y: y + 4}, "nothing measured"));
      } else if (value_of && width >= 560) {
        svg.append(mark("text", {class: "value", x: width, y: y + 4, "text-anchor": "end"},
            value_of(row)));
      }
    });
    exploreRows(svg, rows, places, width, (row) => row.marks.map((each) => ({
      name: each.name, style: row.style,
      value: format(each.value) + (known(each.low) && each.low < each.high
        ? ` (${format(each.low)} to ${format(each.high)})` : ""),
    })));
    return [legend_items ? legend(legend_items) : null, svg];
  });
}

// Rows of {name, style, parts: [{name, value}]}, from zero: lengths may be compared.
function barRows(place, rows, {title, format, label, apart}) {
  show(place, (width) => {
    const places = rowPlaces(width, rows, 26);
    const svg = canvas(width, places.bottom + 4, label);
    const total = (row) =>
      row.parts.reduce((sum, part) => sum + (known(part.value) ? part.value : 0), 0);
    const most = greatest(rows.map(total)) || 1;
    const x = linear(0, most, places.left, width - (apart ? 130 : 74));
    rows.forEach((row, i) => {
      const y = places.center(i);
      svg.append(places.name(i));
      let from = 0;
      row.parts.forEach((part, k) => {
        if (!known(part.value)) return;
        svg.append(mark("rect", {
          x: x(from), y: y - 7, width: Math.max(1, x(from + part.value) - x(from)), height: 14,
          style: `fill: ${colorOf(row.style)}; opacity: ${k === 0 ? 1 : 0.45}`,
        }));
        from += part.value;
      });
      const all_known = row.parts.every((part) => known(part.value));
      svg.append(mark("text", {class: "value", x: x(from) + 6, y: y + 4},
          apart ? row.parts.map((part) => format(part.value)).join(" + ")
            : all_known ? format(from) : `${format(from)} +?`));
    });
    exploreRows(svg, rows, places, width, (row) => row.parts.map((part) => ({
      name: part.name, style: row.style, value: format(part.value),
    })));
    const names = rows[0].parts.map((part) => part.name);
    return [node("h3", {}, title), names.length < 2 ? null : legend(names.map((name, k) => ({
      name, mark: mark("svg", {width: 12, height: 12, "aria-hidden": "true"}, mark("rect", {
        width: 12, height: 12, style: `fill: currentColor; opacity: ${k === 0 ? 1 : 0.45}`,
      })),
    }))), svg];
  });
}

function nearestPoint(points, x) {
  let best = null;
  for (const point of points) {
    if (best === null || Math.abs(point[0] - x) < Math.abs(best[0] - x)) best = point;
  }
  return best;
}

function cursorLines(lines, at, format_y, reach) {
  return lines.map((line) => ({line, point: nearestPoint(line.points, at)}))
      .filter(({point}) => point && Math.abs(point[0] - at) <= reach)
      .sort((a, b) => b.point[1] - a.point[1])
      .map(({line, point}) => ({name: line.name, style: line.style, value: format_y(point[1])}));
}

// Lines of {name, style, dash, points: [[x, y]]}. `x_axis(start, end)` makes the scale, with ticks.
function lineChart(place, lines, options) {
  const {title, x_axis, format_x, y_log, format_y, label, stops, reach, height = 320} = options;
  show(place, (width) => {
    const left = 66;
    const right = width - 16;
    const bottom = height - 26;
    const svg = canvas(width, height, label);
    const values = lines.flatMap((line) => line.points.map((point) => point[1]));
    const y = y_log ? logarithmic(...logEnds(values), bottom, 10)
                    : linear(0, Math.max(greatest(values), 0) * 1.06 || 1, bottom, 10);
    const x = x_axis(left, right);
    axisLeft(svg, y, left, right, format_y);
    axisBelow(svg, x, 10, bottom, format_x);
    for (const line of lines) {
      const path = line.points.map(([px, py], i) =>
        `${i ? "L" : "M"}${x(px).toFixed(1)} ${y(py).toFixed(1)}`).join("");
      svg.append(mark("path", {
        class: "curve", d: path, "stroke-dasharray": line.dash || dashOf(line.style) || null,
        style: `stroke: ${colorOf(line.style)}`,
      }));
      if (line.points.length === 1) {
        svg.append(dot(x(line.points[0][0]), y(line.points[0][1]), "circle", line.style));
      }
    }
    const cursor = mark("line", {class: "cursor", y1: 10, y2: bottom, visibility: "hidden"});
    svg.append(cursor);
    const places = stops.map((stop) => ({x: x(stop), y: (bottom + 10) / 2}));
    explore(svg, places,
        (at) => places.reduce((best, each, i) =>
          Math.abs(each.x - at) < Math.abs(places[best].x - at) ? i : best, 0),
        (i) => {
          cursor.setAttribute("x1", places[i].x);
          cursor.setAttribute("x2", places[i].x);
          cursor.setAttribute("visibility", "visible");
          return {
            title: format_x(stops[i], true),
            lines: cursorLines(lines, stops[i], format_y, reach).slice(0, 16),
          };
        },
        () => cursor.setAttribute("visibility", "hidden"));
    const named = lines.filter((line) => line.in_legend !== false);
    return [title ? node("h3", {}, title) : null,
      legend(named.map((line) => ({name: line.name, mark: swatch(line.style)}))), svg];
  });
}

// The share of operations in each of many equal steps of the logarithm of their time.
function density(distribution, low, high, bins) {
  const shares = new Array(bins).fill(0);
  const place = (value) =>
    Math.log(Math.max(value, low) / low) / Math.log(high / low) * bins;
  const all = distribution.steps.reduce((sum, each) => sum + each[1], 0) || 1;
  let before = distribution.min;
  for (const [upto, count] of distribution.steps) {
    const from = Math.min(place(Math.min(before, upto)), bins - 1e-6);
    const to = Math.min(Math.max(place(upto), from), bins - 1e-6);
    const first = Math.floor(from);
    const last = Math.floor(to);
    for (let bin = first; bin <= last; ++bin) {
      const part = to > from ? (Math.min(bin + 1, to) - Math.max(bin, from)) / (to - from) : 1;
      shares[bin] += count / all * part;
    }
    before = upto;
  }
  return shares;
}

// Rows of {name, style, distribution}.
function densityRows(place, rows, {format, label}) {
  show(place, (width) => {
    const places = rowPlaces(width, rows, 46);
    const svg = canvas(width, places.bottom + 26, label);
    const [low, high] = logEnds(rows.flatMap((row) =>
      [row.distribution.min || 1, percentile(row.distribution, 99.99)]));
    const x = logarithmic(low, high, places.left, width - 18);
    const bins = Math.max(40, Math.min(160, Math.round((width - places.left) / 6)));
    axisBelow(svg, x, 4, places.bottom, format);
    rows.forEach((row, i) => {
      const shares = density(row.distribution, low, high, bins);
      const peak = greatest(shares) || 1;
      const base = places.center(i) + 18;
      const at = (bin) => (places.left + bin / bins * (width - 18 - places.left)).toFixed(1);
      const outline = shares.map((share, bin) => {
        const height = (base - share / peak * 34).toFixed(1);
        return `L${at(bin)} ${height}L${at(bin + 1)} ${height}`;
      }).join("");
      svg.append(mark("path", {
        d: `M${at(0)} ${base}${outline}L${at(bins)} ${base}z`,
        style: `fill: ${colorOf(row.style)}; opacity: 0.8`,
      }), mark("line", {class: "axis", x1: places.left, x2: width - 18, y1: base, y2: base}));
      for (const [percent, form] of [[50, "bar"], [99, "bar"]]) {
        const value = percentile(row.distribution, percent);
        if (known(value)) {
          svg.append(mark("path", {
            d: forms[form](5), transform: `translate(${x(value).toFixed(1)} ${base})`,
            style: "fill: var(--ink)",
          }));
        }
      }
      svg.append(places.name(i));
    });
    exploreRows(svg, rows, places, width, (row) => {
      const d = row.distribution;
      return [["least", d.min], ["mean", d.mean], ["p50", percentile(d, 50)],
        ["p99", percentile(d, 99)], ["p99.9", percentile(d, 99.9)], ["most", d.max],
      ].map(([name, value]) => ({name, style: row.style, value: format(value)}));
    });
    return [legend([{name: "p50 and p99", mark: legendMark("bar", false)}]), svg];
  });
}
