// Elements, and what every chart is made of: scales, axes, marks, and the box that says what is
// under the pointer or the keyboard's cursor. Text only ever becomes text nodes.

function node(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

// The namespace is asked of an element that the page has, as it would be the page's only address.
function mark(name, attributes = {}, ...children) {
  const namespace = document.getElementById("svg").namespaceURI;
  return fill(document.createElementNS(namespace, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

const dashes = ["", "7 4", "2 3", "9 3 2 3"];

function colorOf(style) {
  return `var(--c${style % 8})`;
}

// Beyond eight lines the colors come again, with another dash and another form.
function dashOf(style) {
  return dashes[Math.floor(style / 8) % dashes.length];
}

const forms = {
  circle: (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
  square: (r) => `M${-r * 0.9} ${-r * 0.9}h${1.8 * r}v${1.8 * r}h${-1.8 * r}z`,
  diamond: (r) => `M0 ${-1.25 * r}L${1.25 * r} 0L0 ${1.25 * r}L${-1.25 * r} 0z`,
  triangle: (r) => `M0 ${-1.2 * r}L${1.15 * r} ${0.9 * r}L${-1.15 * r} ${0.9 * r}z`,
  bar: (r) => `M${-1} ${-1.3 * r}h2v${2.6 * r}h-2z`,
};

function dot(x, y, form, style, hollow = false, radius = 5) {
  return mark("path", {
    d: forms[form](radius),
    transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
    style: hollow ? `fill: var(--paper); stroke: ${colorOf(style)}; stroke-width: 2`
                  : `fill: ${colorOf(style)}; stroke: var(--paper); stroke-width: 1`,
  });
}

function swatch(style) {
  return mark("svg", {width: 22, height: 12, viewBox: "0 0 22 12", "aria-hidden": "true"},
      mark("line", {
        x1: 1, y1: 6, x2: 21, y2: 6, "stroke-dasharray": dashOf(style) || null,
        style: `stroke: ${colorOf(style)}; stroke-width: 3`,
      }));
}

function linear(from, to, start, end) {
  const scale = (value) => start + (value - from) / (to - from || 1) * (end - start);
  const rough = (to - from) / Math.max(2, Math.abs(end - start) / 90) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  scale.ticks = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; ++i) {
    scale.ticks.push(i * step);
  }
  return scale;
}

// Decades, and their halves and fifths where there is room for them.
function logarithmic(low, high, start, end) {
  const from = Math.log10(low);
  const to = Math.log10(high);
  const scale = (value) =>
    start + (Math.log10(Math.max(value, low)) - from) / (to - from || 1) * (end - start);
  const room = Math.abs(end - start) / Math.max(to - from, 0.1);
  const parts = room > 800 ? [1, 1.5, 2, 3, 4, 5, 6, 8] : room > 190 ? [1, 2, 5]
    : room > 110 ? [1, 3] : [1];
  const every = Math.max(1, Math.ceil(52 / room));
  scale.ticks = [];
  for (let decade = Math.floor(from); decade <= to; decade += every) {
    for (const part of parts) {
      const value = part * 10 ** decade;
      if (value >= low * 0.999 && value <= high * 1.001) scale.ticks.push(value);
    }
  }
  return scale;
}

// The ends of a logarithmic axis: a little beyond the values, and at least half a decade apart.
function logEnds(values) {
  const found = values.filter((value) => known(value) && value > 0);
  if (found.length === 0) return [1, 10];
  let low = least(found) / 1.25;
  let high = greatest(found) * 1.25;
  if (high / low < 3.2) {
    const middle = Math.sqrt(low * high);
    low = middle / 1.8;
    high = middle * 1.8;
  }
  return [low, high];
}

function canvas(width, height, label) {
  return mark("svg", {
    class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0,
    "aria-label": label,
  });
}

// Lines and words of a horizontal axis at the lower edge of a plot.
function axisBelow(svg, scale, top, bottom, format) {
  let free = 0;
  for (const value of scale.ticks) {
    const x = scale(value);
    svg.append(mark("line", {class: "grid", x1: x, x2: x, y1: top, y2: bottom}));
    const words = tickText(format(value));
    const half = textWidth(words, 12) / 2;
    const middle = Math.min(x, svg.viewBox.baseVal.width - half);
    if (middle - half < free) continue;
    svg.append(mark("text", {x: middle, y: bottom + 17, "text-anchor": "middle"}, words));
    free = middle + half + 8;
  }
}

function axisLeft(svg, scale, left, right, format) {
  for (const value of scale.ticks) {
    const y = scale(value);
    svg.append(mark("line", {class: "grid", x1: left, x2: right, y1: y, y2: y}));
    svg.append(mark("text", {x: left - 8, y: y + 4, "text-anchor": "end"},
        tickText(format(value))));
  }
}

const pen = document.createElement("canvas").getContext("2d");

function textWidth(words, size = 13) {
  pen.font = `${size}px ${getComputedStyle(document.documentElement).fontFamily}`;
  return pen.measureText(words).width;
}

// An SVG text does not wrap: what is too long for `width` ends in an ellipsis.
function shortened(words, width) {
  let room = words.length;
  while (room > 4 && textWidth(words.slice(0, room) + "\u2026") > width) --room;
  return textWidth(words) <= width || room === words.length ? words
    : words.slice(0, room) + "\u2026";
}

const tip = {
  show(x, y, title, lines) {
    const box = document.getElementById("tip");
    box.replaceChildren(node("b", {}, title), ...lines.map((line) => node("div", {},
        node("i", {style: line.style === undefined ? "" : `background: ${colorOf(line.style)}`}),
        node("span", {}, line.name), node("strong", {}, line.value))));
    box.hidden = false;
    const {width, height} = box.getBoundingClientRect();
    const left = x + 16 + width > innerWidth ? x - 16 - width : x + 16;
    box.style.left = `${Math.max(6, Math.min(left, innerWidth - width - 6))}px`;
    box.style.top = `${Math.max(6, Math.min(y + 16, innerHeight - height - 6))}px`;
  },
  hide() {
    document.getElementById("tip").hidden = true;
  },
};

// Lets pointer and arrow keys walk over `stops`, each {x, y} in the chart's units: `enter(i)` marks
// one and returns {title, lines}, `leave()` takes the mark away.
function explore(svg, stops, nearest, enter, leave) {
  let current = -1;
  const toScreen = (stop) => {
    const box = svg.getBoundingClientRect();
    const factor = box.width / svg.viewBox.baseVal.width;
    return [box.left + stop.x * factor, box.top + stop.y * factor];
  };
  const go = (index, point) => {
    if (index < 0 || index >= stops.length) return;
    current = index;
    const {title, lines} = enter(index);
    tip.show(...(point || toScreen(stops[index])), title, lines);
  };
  const end = () => {
    current = -1;
    leave();
    tip.hide();
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const factor = svg.viewBox.baseVal.width / box.width;
    go(nearest((event.clientX - box.left) * factor, (event.clientY - box.top) * factor),
        [event.clientX, event.clientY]);
  });
  svg.addEventListener("pointerleave", end);
  svg.addEventListener("blur", end);
  svg.addEventListener("keydown", (event) => {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (event.key === "Escape") end();
    if (step === undefined) return;
    event.preventDefault();
    go(current < 0 ? 0 : Math.max(0, Math.min(stops.length - 1, current + step)));
  });
}
