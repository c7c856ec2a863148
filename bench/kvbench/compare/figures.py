"""What comes out of runs: medians with their spread, ratios, and the tables that show them."""

import statistics


def spread(values):
    """(median, least, greatest)"""
    return statistics.median(values), min(values), max(values)


def ratios(ours, theirs):
    """By round. Of those of one round, which had the same time's noise: how many times theirs is ours.
    None: no round has both."""
    both = [ours[turn] / theirs[turn] for turn in ours.keys() & theirs.keys() if theirs[turn] > 0]
    return spread(both) if both else None


def rate(value):
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g} {unit}/s"
    return f"{value:.3g} /s"


def nanos(value):
    for limit, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if value >= limit:
            return f"{value / limit:.3g} {unit}"
    return f"{value:.0f} ns"


def times(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def number(value):
    """As protobuf's JSON has them: 64-bit ones are text."""
    return float(value or 0)


def percentile(results, percent):
    """Of the operations that succeeded: the greatest of the metrics', since they can't be added."""
    found = [number(each.get("nanos")) for metric in results.get("metrics", [])
             if not metric["name"].endswith("-FAILED") and metric["name"] not in ("CLEANUP", "VERIFY")
             for each in metric.get("latency", {}).get("percentiles", [])
             if number(each.get("percent")) == percent]
    return max(found, default=0)


def failures(results):
    """What the store answered other than "OK", as text; empty if nothing."""
    bad = {f"{metric['name']} {name}": count for metric in results.get("metrics", [])
           for name, count in metric.get("returns", {}).items()
           if name != "OK" and number(count) > 0}
    return ", ".join(f"{name}: {count}" for name, count in sorted(bad.items()))


def table(rows, header):
    """Columns as wide as their widest cell; the first two left, the others right."""
    cells = [header] + rows
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = []
    for row in cells:
        lines.append("  ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
    return "\n".join(lines)


HEADER = ["", "store", "throughput", "least", "most", "p50", "p99", "server CPU", "ratio", "least",
          "most"]


def setting(cell):
    how = "one by one" if cell.batch == 1 else f"{cell.batch} in a call"
    return f"{cell.value_bytes} B values, {how}, client and server " + (
        "on one core" if cell.placement == "one-core" else "where the scheduler puts them")


def rows_of(workload, stores, baseline, runs):
    """`runs[store][round]`: {"rate", "p50", "p99", "server_share" or None}. Without a run: failed."""
    base = {turn: run["rate"] for turn, run in runs.get(baseline, {}).items()}
    rows = []
    for store, label in stores:
        mine = list(runs[store].values())
        if not mine:
            rows.append([workload, label, "failed"] + [""] * (len(HEADER) - 3))
            continue
        middle, least, most = spread([run["rate"] for run in mine])
        shares = [run["server_share"] for run in mine if run["server_share"] is not None]
        ratio = ratios(base, {turn: run["rate"] for turn, run in runs[store].items()})
        rows.append([workload, label, rate(middle), rate(least), rate(most),
                     nanos(statistics.median(run["p50"] for run in mine)),
                     nanos(statistics.median(run["p99"] for run in mine)),
                     f"{100 * statistics.median(shares):.1f} %" if shares else "none"] +
                    (["", "", ""] if store == baseline or ratio is None
                     else [times(value) for value in ratio]))
    return rows
