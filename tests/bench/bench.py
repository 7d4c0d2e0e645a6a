#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ours and theirs, run by turns on one machine: medians, spread, and the ratio of each pair of runs.

Called by run.sh, which builds the programs and starts the server. A contestant is a function that returns a rate; what
cannot be had on this machine is reported as absent. Results go to OUT/SUITE.json and OUT/SUITE.svg.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PLANNER = " ".join(
    f"-c enable_{name}=off" for name in ("seqscan", "sort", "bitmapscan", "hashjoin", "mergejoin")
)


class Absent(Exception):
    """A contestant that this machine cannot have, with the reason."""


def run(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}:\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stdout


def needs(program):
    found = shutil.which(program)
    if not found:
        raise Absent(f"no {program} on this machine")
    return found


class Bench:
    def __init__(self, arguments):
        self.build = pathlib.Path(arguments.build)
        self.out = pathlib.Path(arguments.out)
        self.rounds = 1 if arguments.quick else arguments.rounds
        self.quick = arguments.quick
        self.conninfo = os.environ.get("FILA_TEST_POSTGRES", "")
        self.out.mkdir(parents=True, exist_ok=True)

    # ---- contestants ----------------------------------------------------------------------------

    def ours(self, program, **options):
        words = [f"{name}={value}" for name, value in options.items()]
        return json.loads(run([self.build / program, *words]))["rate"]

    def fill(self, table, rows, size=120):
        run([self.build / "bench_postgres", "do=fill", f"conninfo={self.conninfo}", f"table={table}",
             f"rows={rows}", f"bytes={size}"])

    def drain(self, table, **options):
        return self.ours("bench_postgres", do="drain", conninfo=self.conninfo, table=table, **options)

    def pgbench_script(self, table, batch):
        """What the store sends, as pgbench sends it: claim, then settle. The rows come back as two arrays."""
        statements = json.loads(run([self.build / "bench_postgres", "do=sql", f"table={table}"]))

        def bound(name, values):
            text, *parameters = statements[name]
            for place, parameter in reversed(list(enumerate(parameters, 1))):
                text = text.replace(f"${place}::", values[parameter] + "::")
            return text.replace("\n", " ")

        owner = {"owner": "'pgbench'"}
        claim = bound("claim", {"n": str(batch), "lease": "300000000", **owner})
        column = "payload" if table == "jobs" else "payee"
        rows = (f"SELECT array_agg(id)::text AS ids, array_agg(fence)::text AS fences, sum(length({column})) "
                "AS bytes FROM claimed")
        claim = claim[:claim.index(" SELECT * FROM claimed")] + " " + rows
        filled = {"word": f"array_fill('completed'::text, ARRAY[{batch}])",
                  "failure": f"array_fill(0, ARRAY[{batch}])",
                  "delay": f"array_fill(NULL::bigint, ARRAY[{batch}])",
                  "error": f"array_fill(NULL::text, ARRAY[{batch}])"}
        settle = bound("erase" if table == "jobs" else "settle", {"k": ":ids", "fence": ":fences", **owner, **filled})
        script = self.out / f"pgbench_{table}_{batch}.sql"
        script.write_text(f"{claim} \\gset\n{settle};\n")
        return script

    def pgbench(self, table, batch, clients, rows):
        script = self.pgbench_script(table, batch)
        # Not quite to the end: the last claims would find less than a batch.
        each = rows // batch // clients * 95 // 100
        text = run([needs("pgbench"), "-n", "-M", "prepared", "-j", "2", "-c", clients, "-t", each, "-f", script,
                    self.conninfo], env={**os.environ, "PGOPTIONS": PLANNER + " -c jit=off"})
        return batch * float(re.search(r"tps = ([\d.]+) \(without", text).group(1))

    def go(self, *arguments):
        program = self.build / "channels"
        if not program.exists():
            run([needs("go"), "build", "-o", program, HERE / "peers" / "channels.go"])
        return json.loads(run([program, *arguments]))["rate"]

    # ---- suites ---------------------------------------------------------------------------------

    def postgres(self):
        rows, few = (20_000, 1_000) if self.quick else (100_000, 8_000)

        def filled(table, n, contestant):
            def measured():
                self.fill(table, n)
                return contestant()
            return measured

        yield "job table, batch 100", {
            "pgbench, 2 clients": filled("jobs", rows, lambda: self.pgbench("jobs", 100, 2, rows)),
            "fila, 2 slots": filled("jobs", rows, lambda: self.drain("jobs", batch=100, slots=2)),
            "fila, 2 slots, batch by itself": filled("jobs", rows, lambda: self.drain("jobs", slots=2)),
        }
        yield "user's table, batch 100", {
            "pgbench, 2 clients": filled("payments", rows, lambda: self.pgbench("payments", 100, 2, rows)),
            "fila, 2 slots": filled("payments", rows, lambda: self.drain("payments", batch=100, slots=2)),
        }
        yield "job table, one at a time", {
            "pgbench, 8 clients": filled("jobs", few, lambda: self.pgbench("jobs", 1, 8, few)),
            "fila, 8 slots": filled("jobs", few, lambda: self.drain("jobs", batch=1, slots=8)),
            "fila in transaction, 8 slots": filled("jobs", few, lambda: self.drain(
                "jobs", strategy="in-transaction", slots=8, connections=8)),
        }

    def in_process(self):
        items = 100_000 if self.quick else 1_000_000

        def ours(what, workers, capacity=64, n=items):
            return lambda: self.ours("bench_in_process", do=what, workers=workers, capacity=capacity, items=n)

        for workers in (1, 2, 4, 16):
            yield f"channel of 64, {workers} workers, no work", {
                "go": lambda w=workers: self.go(w, 0, 64, items),
                "fila": ours("channel", workers),
                "textbook queue": ours("textbook", workers, n=items // 10),
            }
        yield "2 workers, rows in memory, no work", {
            "go": lambda: self.go(2, 0, 64, items),
            "fila": ours("memory", 2),
        }
        yield "2 workers, lots of 100, no work", {
            "go": lambda: self.go(2, 0, 64, items, 100),
            "fila": ours("lots", 2),
        }

    # ---- the whole ------------------------------------------------------------------------------

    def measure(self, name, contestants):
        """Round by round, each after the other: whatever disturbs a round disturbs all of it."""
        rates, absent = {who: [] for who in contestants}, {}
        for _ in range(self.rounds):
            for who, contestant in contestants.items():
                if who in absent:
                    continue
                try:
                    rates[who].append(contestant())
                except Absent as reason:
                    absent[who] = str(reason)
        first = next((who for who in contestants if who not in absent), None)
        results = []
        for who in contestants:
            if who in absent:
                results.append({"who": who, "absent": absent[who]})
                continue
            ratios = [mine / theirs for mine, theirs in zip(rates[who], rates[first])]
            results.append({"who": who, "rates": rates[who], "median": statistics.median(rates[who]),
                            "ratio": statistics.median(ratios)})
        return {"scenario": name, "against": first, "results": results}

    def report(self, suite, scenarios):
        print(f"\n### {suite}\n\n| scenario | who | items/s | least | most | ratio |\n|---|---|--:|--:|--:|--:|")
        for scenario in scenarios:
            for r in scenario["results"]:
                if "absent" in r:
                    print(f"| {scenario['scenario']} | {r['who']} | absent: {r['absent']} | | | |")
                    continue
                print(f"| {scenario['scenario']} | {r['who']} | {r['median']:,.0f} | {min(r['rates']):,.0f} | "
                      f"{max(r['rates']):,.0f} | {r['ratio']:.2f} |")
        (self.out / f"{suite}.json").write_text(json.dumps(
            {"suite": suite, "rounds": self.rounds, "machine": os.uname().release, "cores": os.cpu_count(),
             "scenarios": scenarios}, indent=1))
        self.plot(suite, scenarios)

    def plot(self, suite, scenarios):
        try:
            import matplotlib
        except ImportError:
            print("(no plot: python3-matplotlib is not installed)", file=sys.stderr)
            return
        matplotlib.use("svg")
        from matplotlib import pyplot
        names, ratios = [], []
        for scenario in scenarios:
            for r in scenario["results"]:
                if "absent" not in r and r["who"] != scenario["against"]:
                    names.append(f"{r['who']} ÷ {scenario['against']}\n{scenario['scenario']}")
                    ratios.append(r["ratio"])
        figure, axes = pyplot.subplots(figsize=(9, 0.6 * len(names) + 1.2))
        axes.barh(names, ratios)
        axes.axvline(1, color="black", linewidth=1)
        axes.invert_yaxis()
        axes.set_xlabel("ratio, median of the rounds")
        figure.tight_layout()
        figure.savefig(self.out / f"{suite}.svg")


SUITES = {"postgres": Bench.postgres, "in_process": Bench.in_process}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="where the programs are")
    parser.add_argument("--out", required=True, help="where results go")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one round of little: to see that it runs")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=" ".join(SUITES))
    arguments = parser.parse_args()
    for suite in arguments.suites:
        if suite not in SUITES:
            parser.error(f"'{suite}' is no suite: {' '.join(SUITES)}")
    bench = Bench(arguments)
    for suite in arguments.suites or SUITES:
        bench.report(suite, [bench.measure(*scenario) for scenario in SUITES[suite](bench)])


if __name__ == "__main__":
    main()
