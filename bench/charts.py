#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws charts from the results of mayfly-bench.

    mayfly-bench server --only expired --json expired.json
    bench/charts.py expired.json store.json --out charts     SVG and PNG, one pair a chart

Which charts it draws depends on what the files have; docs/benchmarks.md describes their form.
Needs python3-matplotlib.
"""

import argparse
import json
import pathlib
import statistics

import matplotlib

matplotlib.use("Agg")  # no window
matplotlib.rcParams.update({
    "font.size": 11, "axes.spines.top": False, "axes.spines.right": False,
    "axes.titleweight": "bold", "axes.titlelocation": "left", "figure.facecolor": "white",
    "svg.hashsalt": "mayfly", "svg.fonttype": "none"})

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter  # noqa: E402

# Okabe and Ito's palette, which all eyes can tell apart. A system has one colour in all charts.
COLOURS = {"mayfly": "#0072b2", "mayfly-c": "#56b4e9", "lmdb": "#009e73", "sqlite": "#e69f00",
           "rocksdb": "#cc79a7", "redis-server": "#d55e00", "valkey": "#cc79a7", "lazy": "#8a8a8a",
           "heap": "#e69f00", "sampling": "#cc79a7", "windows": "#56b4e9", "wheel": "#0072b2",
           "volatile-set": "#009e73", "tree": "#d55e00"}
SPARE = ["#009e73", "#e69f00", "#56b4e9", "#8a8a8a"]
TITLES = {"mayfly": "Mayfly", "mayfly-c": "Mayfly, C API", "lmdb": "LMDB by hand",
          "sqlite": "SQLite", "rocksdb": "RocksDB"}

# The others are in the table of the report.
STORE_CASES = ("get, random", "get, TTLs present", "scan", "scan, TTLs present",
               "put, random (off)", "put with TTL (normal)", "purge (normal)",
               "single put, random (normal)", "single put with TTL (normal)",
               "single put, sustained (normal)", "single put with TTL, sustained (normal)",
               "single put, random (full)", "single put, 8 threads (full)", "mixed 70/20/10 (off)")


def colour(system):
    return COLOURS.get(system, SPARE[sum(system.encode()) % len(SPARE)])


def title(system, systems):
    """A server is shown with its version: "redis-server 7.0.15"."""
    what = systems.get(system, "").partition(";")[0]
    return TITLES.get(system, what if what.startswith(system) else system)


def number(value):
    """About three digits, thousands separated."""
    if value >= 99.5 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.95 else f"{value:.2g}"


class Results:
    """The runs of all files, and where they were measured."""

    def __init__(self, paths):
        documents = [json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in paths]
        self.runs = [run | {"where": self.where_of(document),
                            "title": title(run["system"], document.get("systems", {}))}
                     for document in documents for run in document["runs"]]

    @staticmethod
    def where_of(document):
        machine = document["machine"]
        return f"commit {document['commit']}, {machine['processor']}, {machine['cores']} cores"

    def part(self, suite, part, **settings):
        return [run for run in self.runs if run["suite"] == suite and run["part"] == part
                and all(run["settings"].get(name) == value for name, value in settings.items())]


def unique(values):
    return list(dict.fromkeys(values))


def medians(runs, metric):
    """(case, system) -> the median over the rounds. A rate that is no number is null there."""
    values = {}
    for run in runs:
        if run["metrics"].get(metric) is not None:
            key = run["case"], run["system"]
            values.setdefault(key, []).append(run["metrics"][metric])
    return {key: statistics.median(found) for key, found in values.items()}


class Charts:
    def __init__(self, results, folder):
        self.results, self.folder, self.written = results, pathlib.Path(folder), []
        self.folder.mkdir(parents=True, exist_ok=True)

    def save(self, figure, name, run):
        figure.text(0.01, 0.005, run["where"], fontsize=7.5, color="#6a737d", va="bottom")
        figure.tight_layout(rect=(0, 0.03, 1, 1))
        for ending in ("svg", "png"):
            path = self.folder / f"{name}.{ending}"
            metadata = {"Date": None} if ending == "svg" else None
            figure.savefig(path, dpi=130, bbox_inches="tight", metadata=metadata)
            self.written.append(path)
        plt.close(figure)

    def bars(self, name, heading, axis, runs, metric, *, scale=1, log=False):
        """Horizontal bars: a group for each case, a bar for each system, each with its number."""
        values = medians(runs, metric)
        if not values:
            return
        titles = {run["system"]: run["title"] for run in runs}
        cases = unique(case for case, _ in values)
        systems = unique(system for _, system in values)
        height = 0.8 / len(systems)
        figure, axes = plt.subplots(
            figsize=(9, 1.5 + len(cases) * (0.1 + 0.22 * len(systems))))
        for place, system in enumerate(systems):
            rows = [(row, values[case, system] / scale) for row, case in enumerate(cases)
                    if (case, system) in values]
            places = [row + (place - (len(systems) - 1) / 2) * height for row, _ in rows]
            drawn = axes.barh(places, [value for _, value in rows], height * 0.9,
                              color=colour(system), label=titles[system])
            axes.bar_label(drawn, [number(value) for _, value in rows], padding=3, fontsize=8.5)
        axes.set_yticks(range(len(cases)), cases)
        axes.set_ylim(len(cases) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        if log:
            axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
        axes.margins(x=0.1)
        axes.set_xlabel(axis + (" (logarithmic scale)" if log else ""))
        axes.set_title(heading)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.9 / figure.get_figheight()),
                    ncols=min(len(systems), 7), frameon=False)
        self.save(figure, name, runs[0])

    def lines(self, heading, axis, runs):
        """A line for each system over seconds, with its name at its end."""
        figure, axes = plt.subplots(figsize=(9, 4.8))
        ends = []
        for run in runs:
            points = run["series"][0]["points"]
            axes.plot([at for at, _ in points], [value for _, value in points], linewidth=2.2,
                      color=colour(run["system"]), clip_on=False)
            ends.append((points[-1][1], run["title"], colour(run["system"])))
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, max(point[0] for run in runs for point in run["series"][0]["points"]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
        axes.grid(axis="y", color="#e3e6ea")
        axes.spines["bottom"].set_visible(False)  # it would hide a line at zero
        axes.set_axisbelow(True)
        axes.set_xlabel("seconds")
        axes.set_ylabel(axis)
        axes.set_title(heading, pad=14)
        label_ends(axes, ends)
        return figure, axes

    # --- The charts

    def expired_in_memory(self):
        for case in ("keys", "fields"):
            runs = [run for run in self.results.part("server", "expired") if run["case"] == case]
            if not runs:
                continue
            settings = runs[0]["settings"]
            figure, axes = self.lines(
                "Expired, but still in memory", f"expired {case} in memory", runs)
            axes.text(0, 1.012, f"{settings['entries']:,.0f} {case}: half of them expire within "
                      f"{settings['ttl_seconds']:.0f} seconds, the others in a day; no reads",
                      transform=axes.transAxes, fontsize=9.5, color="#6a737d")
            self.save(figure, "expired_in_memory" + ("" if case == "keys" else "_fields"), runs[0])

    def store(self):
        runs = [run for run in self.results.part("store", "rates")
                if run["case"] in STORE_CASES and run["system"] != "mayfly-c"]
        for size in unique(run["settings"]["value_bytes"] for run in runs):
            some = [run for run in runs if run["settings"]["value_bytes"] == size]
            keys = some[0]["settings"]["keys"]
            self.bars(f"store_{size:.0f}", f"Store: {keys:,.0f} keys, values of {size:.0f} bytes",
                      "thousand operations a second, more is better", some, "ops_per_second",
                      scale=1e3, log=True)

    def stream(self):
        """The first round. Each run has two series: file and log in bytes, and p99.9 in us."""
        runs = self.results.part("store", "stream")[:1]
        for place, name, heading, axis, scale in (
                (0, "stream_size", "Entries that live for a moment: the file", "MB, with the log",
                 1e6),
                (1, "stream_latency", "Entries that live for a moment: how long a put takes",
                 "ms, 99.9 % within each second", 1e3)):
            some = [run | {"series": [{"points": [
                (at, value / scale) for at, value in run["series"][place]["points"]]}]}
                for run in runs]
            if not some:
                continue
            settings = some[0]["settings"]
            figure, axes = self.lines(heading, axis, some)
            axes.text(0, 1.012, f"{settings['puts_per_second']:,.0f} single puts a second, each with "
                      f"a TTL of {settings['ttl_ms'] / 1e3:.3g} s; nobody purges",
                      transform=axes.transAxes, fontsize=9.5, color="#6a737d")
            self.save(figure, name, some[0])

    def server(self):
        runs = [run | {"pipelined": "-P 32" in run["case"],
                       "case": run["case"].replace(" -P 32", "").replace(
                           "HSETEX", "HSETEX, or HSET\nwhere it is unknown")}
                for run in self.results.part("server", "speed") if run["settings"]["keys"] > 1]
        for name, heading, some in (
                ("server_throughput", "Server: 32 requests in flight",
                 [run for run in runs if run["pipelined"]]),
                ("server_single", "Server: one request at a time for each of 50 clients",
                 [run for run in runs if not run["pipelined"]])):
            if some:
                self.bars(name, heading, "thousand requests a second, more is better", some,
                          "ops_per_second", scale=1e3)
        runs = self.results.part("server", "memory")
        if runs:
            self.bars("server_memory", "Server: memory of a field of 13 bytes, value of 13",
                      "bytes, less is better", runs, "bytes_per_field")

    def sets(self):
        runs = [run | {"pipelined": "-P 32" in run["case"],
                       "case": run["case"].replace(" -P 32", "")}
                for run in self.results.part("server", "sets")]
        for name, heading, pipelined in (
                ("sets_throughput", "32 requests in flight", True),
                ("sets_single", "one request at a time for each of 50 clients", False)):
            some = [run for run in runs if run["pipelined"] == pipelined]
            if some:
                self.bars(name, f"Sets of {some[0]['settings']['members']:,.0f}: {heading}",
                          "thousand requests a second, more is better", some, "ops_per_second",
                          scale=1e3)
        runs = self.results.part("server", "set_memory")
        if runs:
            self.bars("set_memory", "Server: memory of a member of 13 bytes",
                      "bytes, less is better", runs, "bytes_per_member")

    def expiry(self):
        sizes = [run["settings"]["entries"] for run in self.results.part("expiry", "index")]
        if sizes:
            size = max(value for value in sizes if value <= max(1e6, min(sizes)))
            runs = self.results.part("expiry", "index", entries=size)
            where = f"{size:,.0f} entries"
            uniform = [operation(run, name) for run in runs if run["case"] == runs[0]["case"]
                       for name in ("insert_ns", "change_ns", "cancel_ns", "cycle_ns")]
            self.bars("cost", f"What does an operation of an expiry index cost? {where}",
                      "nanoseconds, less is better", uniform, "ns", log=True)
            self.bars("mass_expiry", f"How fast is everything removed that is due? {where}",
                      "million entries a second, more is better", runs, "expire_per_second",
                      scale=1e6)
            memory = [run | {"case": "index alone"} for run in runs]
            memory += [run | {"case": "in the cache"}
                       for run in self.results.part("expiry", "cache", entries=size)]
            self.bars("memory", f"How much memory does a deadline take? {where}",
                      "bytes an entry, less is better", memory, "bytes")
        late = self.results.part("expiry", "lateness")
        if late:
            self.lateness([run for run in late if run["case"] == late[0]["case"]])

    def lateness(self, runs):
        settings = runs[0]["settings"]
        spread = [run | {"case": text, "metrics": {"s": run["metrics"][name] / 1e3}}
                  for run in runs for name, text in
                  (("p50_ms", "median"), ("p99_ms", "99 %"), ("max_ms", "worst"))]
        heading = f"{settings['keys']:,.0f} keys, {runs[0]['case']} TTLs, simulated"
        self.bars("lateness", f"How late is an expired entry removed? {heading}",
                  "seconds after its deadline, less is better", spread, "s")
        figure, _ = self.lines(f"Expired, but still in memory: {heading}",
                               "% of all entries in memory", runs)
        self.save(figure, "expired_but_present", runs[0])


def operation(run, metric):
    name = metric.partition("_")[0]
    return run | {"case": name, "metrics": {"ns": run["metrics"][metric]}}


def label_ends(axes, ends):
    """Names the lines at their right ends; lines that end together share a place."""
    low, high = axes.get_ylim()
    apart = (high - low) * 0.06
    groups = []
    for value, name, hue in sorted(ends):
        if groups and value - groups[-1][0] < apart:
            groups[-1][1].append((name, hue))
        else:
            groups.append((value, [(name, hue)]))
    for value, names in groups:
        for line, (name, hue) in enumerate(names):
            axes.annotate(name, (axes.get_xlim()[1], value), xytext=(8, 14 * line - 4),
                          textcoords="offset points", color=hue, fontweight="bold",
                          annotation_clip=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", help="results that mayfly-bench wrote with --json")
    parser.add_argument("--out", default="charts", help="a directory (default charts)")
    options = parser.parse_args()
    charts = Charts(Results(options.files), options.out)
    for draw in (charts.expired_in_memory, charts.store, charts.stream, charts.server, charts.sets,
                 charts.expiry):
        draw()
    for path in charts.written:
        print(path)


if __name__ == "__main__":
    main()
