#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ours and theirs, run by turns on one machine: medians, spread, and the ratio of each pair of runs.

Called by run.sh, which builds the programs and starts the server. A contestant is a function that returns a rate; what
cannot be had on this machine is reported as absent. Results go to OUT/SUITE.json and OUT/SUITE.svg.
"""

import argparse
import json
import os
import statistics
import sys

from contestants import Absent, LeftOut
from scenario import Goal, Scenario
from server_suites import ServerSuites


class Bench(ServerSuites):
    def __init__(self, arguments):
        super().__init__(arguments.build, arguments.out, arguments.quick)
        self.rounds = 1 if arguments.quick else arguments.rounds

    # ---- PostgreSQL -----------------------------------------------------------------------------

    def filled(self, table, rows, contestant):
        def measured():
            self.fill(table, rows)
            return contestant()
        return measured

    def postgres(self):
        rows, few = (20_000, 1_000) if self.quick else (100_000, 8_000)
        filled = self.filled

        yield Scenario("job table, batch 100", {
            "pgbench, 2 clients": filled("jobs", rows, lambda: self.pgbench("jobs", 100, 2, rows)),
            "fila, 2 slots": filled("jobs", rows, lambda: self.drain("jobs", batch=100, slots=2)),
            "fila, 2 slots, batch by itself": filled("jobs", rows, lambda: self.drain("jobs", slots=2)),
        }, [Goal("fila, 2 slots", "pgbench, 2 clients", 0.85, 0.95),
            Goal("fila, 2 slots, batch by itself", "pgbench, 2 clients")])
        yield Scenario("user's table, batch 100", {
            "pgbench, 2 clients": filled("payments", rows, lambda: self.pgbench("payments", 100, 2, rows)),
            "fila, 2 slots": filled("payments", rows, lambda: self.drain("payments", batch=100, slots=2)),
        }, [Goal("fila, 2 slots", "pgbench, 2 clients", 0.85, 0.95)])
        yield Scenario("job table, one at a time", {
            "pgbench, 8 clients": filled("jobs", few, lambda: self.pgbench("jobs", 1, 8, few)),
            "fila, 8 slots": filled("jobs", few, lambda: self.drain("jobs", batch=1, slots=8)),
        }, [Goal("fila, 8 slots", "pgbench, 8 clients", 0.75, 0.85)])
        yield Scenario("job table, in a transaction", {
            "pgbench, 8 clients": filled("jobs", few, lambda: self.pgbench("jobs", 1, 8, few, transaction=True)),
            "fila, 8 slots": filled("jobs", few, lambda: self.drain(
                "jobs", strategy="in-transaction", slots=8, connections=8)),
        }, [Goal("fila, 8 slots", "pgbench, 8 clients", 0.8, 0.9)])

    def on_database(self, name, *arguments, program=None):
        return lambda: self.peer(name, *arguments, program=program, database=True)

    def postgres_peers(self):
        rows, few = (20_000, 1_000) if self.quick else (100_000, 4_000)
        theirs = self.on_database

        yield Scenario("drain, each at its best", {
            "fila, 2 slots": self.filled("jobs", rows, lambda: self.drain("jobs", slots=2)),
            "graphile-worker, batched": theirs("graphile", "drain", "batched", 30_000),
            "pg-boss, fetch 1000": theirs("boss", "drain", 30_000),
            "River, as its benchmark": theirs("river", "drain", "best", 20_000),
            "Procrastinate": theirs("procrastinate", "drain", 500, program="procrastinate_jobs"),
            "PgQueuer, batches of 500": theirs("pgqueuer", "drain", 10_000, program="pgqueuer_jobs"),
        }, [Goal("fila, 2 slots", "graphile-worker, batched", 3.5, 4.5),
            Goal("fila, 2 slots", "pg-boss, fetch 1000", 3, 4),
            Goal("fila, 2 slots", "River, as its benchmark", 3, 5),
            Goal("fila, 2 slots", "Procrastinate", 10),
            Goal("fila, 2 slots", "PgQueuer, batches of 500", 10)])
        yield Scenario("drain, one at a time", {
            "fila, batch 1, 8 slots": self.filled("jobs", few, lambda: self.drain("jobs", batch=1, slots=8)),
            "graphile-worker, one a query": theirs("graphile", "drain", "single", 2_000),
            "pg-boss, fetch 1": theirs("boss", "single", 1_000),
            "River, default": theirs("river", "drain", "default", 2_000),
        }, [Goal("fila, batch 1, 8 slots", "graphile-worker, one a query", 2, 3),
            Goal("fila, batch 1, 8 slots", "pg-boss, fetch 1"),
            Goal("fila, batch 1, 8 slots", "River, default", 2, 3)])

    def enqueue(self):
        rows = 10_000 if self.quick else 100_000
        theirs = self.on_database

        def ours(callers):
            def measured():
                self.fill("jobs", 0)
                return self.ours("bench_postgres", do="enqueue", conninfo=self.conninfo, table="jobs", rows=rows,
                                 callers=callers)
            return measured

        contestants = {
            "fila": ours(1),
            "fila, 2 callers": ours(2),
            "graphile-worker, addJobs": theirs("graphile", "enqueue", 50_000),
            "pg-boss, insert": theirs("boss", "enqueue", 50_000),
            "River, InsertManyFast": theirs("river", "enqueue", 50_000),
            "Procrastinate, batch_defer": theirs("procrastinate", "enqueue", 5_000, program="procrastinate_jobs"),
            "PgQueuer, enqueue": theirs("pgqueuer", "enqueue", 30_000, program="pgqueuer_jobs"),
        }
        yield Scenario("many rows, each in its best way", contestants,
                       [Goal("fila", who, 2, 3) for who in list(contestants)[2:]])

    def notify(self):
        jobs = 20 if self.quick else 100
        theirs = self.on_database

        def ours(what):
            def measured():
                self.fill("jobs", 0)
                return self.ours("bench_notify", do=what, conninfo=self.conninfo, jobs=jobs)
            return measured

        contestants = {
            "floor: insert, notify, wake": ours("floor"),
            "the same, and a claim": ours("claim"),
            "fila": ours("fila"),
            "fila, the same store object": ours("local"),
            "graphile-worker": theirs("graphile", "notify", jobs),
            "pg-boss": theirs("boss", "notify", jobs),
            "River": theirs("river", "notify", jobs),
            "Procrastinate": theirs("procrastinate", "notify", jobs, program="procrastinate_jobs"),
            "PgQueuer": theirs("pgqueuer", "notify", jobs, program="pgqueuer_jobs"),
        }
        floor, claim, fila, local, *peers = contestants
        yield Scenario("enqueue to start on an idle queue, median", contestants, [
            Goal(fila, floor, most=1.3), Goal(fila, claim), Goal(local, floor),
            *(Goal(fila, who, most=1) for who in peers)], "ms")

    # ---- SQLite ---------------------------------------------------------------------------------

    def sqlite(self):
        share = 10 if self.quick else 1
        file = self.out / "queue.db"

        def ours(rows, figure="rate", **options):
            return lambda: self.ours("bench_sqlite", figure=figure, file=file, rows=rows // share, **options)

        def theirs(name, what, rows, *more):
            return lambda: self.peer(name, what, file, rows, *more)

        for synchronous in ("normal", "full"):
            for batch, rows in ((1, 3_000), (10, 20_000), (100, 60_000), (1000, 60_000)):
                how = {"batch": batch, "synchronous": synchronous}
                contestants = {
                    "bare loop": ours(rows, do="loop", **how),
                    "bare loop, settle and claim in one": ours(rows, do="fused", **how),
                    "fila": ours(rows, do="drain", **how),
                }
                goals = [Goal("fila", "bare loop", 0.85), Goal("fila", "bare loop, settle and claim in one")]
                if synchronous == "normal" and batch in (1, 100):
                    contestants["plainjob"] = theirs("plainjob", "drain", 5_000, 1)
                    contestants["River"] = theirs("river_sqlite", "drain", 3_000)
                    goals += [Goal("fila", "plainjob", 15 if batch == 100 else 1.5), Goal("fila", "River")]
                yield Scenario(f"drain, batch {batch}, synchronous {synchronous}", contestants, goals)
        yield Scenario("drain, batch 100, two processes", {
            "fila": ours(60_000, do="drain", batch=100, processes=2),
            "plainjob": theirs("plainjob", "drain", 5_000, 2),
        }, [Goal("fila", "plainjob", 15)])
        two = {"do": "drain", "batch": 100, "processes": 2}
        limit = {"the limit": lambda: 250.0}
        yield Scenario("two processes, the longest claim", {"fila": ours(60_000, figure="longest_ms", **two), **limit},
                       [Goal("fila", "the limit", most=1)], "ms")
        yield Scenario("two processes, the smaller share of the rows",
                       {"fila": ours(60_000, figure="least_share", **two)}, [], "of 1")
        yield Scenario("enqueue, many", {
            "bare loop, 1000 a transaction": ours(60_000, do="insert"),
            "fila": ours(60_000, do="enqueue"),
            "plainjob": theirs("plainjob", "enqueue", 60_000),
            "River": theirs("river_sqlite", "enqueue", 10_000),
        }, [Goal("fila", "bare loop, 1000 a transaction"), Goal("fila", "plainjob", 2), Goal("fila", "River")])

    # ---- in the process -------------------------------------------------------------------------

    def in_process(self):
        share = 10 if self.quick else 1
        pools = {"oneTBB, queues": "tbb", "oneTBB, pipeline": "tbb_pipeline", "Asio": "asio",
                 "BS::thread_pool": "bs", "Taskflow": "taskflow"}

        def all_of(workers, capacity, work_ns, items):
            """Peers that wake a thread an item are given a tenth of the items, where these are many."""
            few = items if work_ns else items // 10

            def how(n):
                return {"workers": workers, "capacity": capacity, "work_ns": work_ns, "items": n // share}
            contestants = {
                "fila": lambda: self.ours("bench_in_process", do="channel", **how(items)),
                "fila, channels alone": lambda: self.ours("bench_in_process", do="bare", **how(items)),
                "Go": lambda: self.peer("channels", workers, work_ns, capacity, items),
                "textbook queue": lambda: self.ours("bench_in_process", do="textbook", **how(few)),
            }
            for who, name in pools.items():
                n = items if name == "tbb_pipeline" else few
                contestants[who] = lambda name=name, n=n: self.pool(name, **how(n))
            return contestants

        def goals(go, stretch=None, cpp=3):
            return [Goal("fila", "Go", go, stretch), Goal("fila, channels alone", "Go"), Goal("fila", "textbook queue"),
                    *(Goal("fila", who, cpp) for who in pools)]

        for workers, capacity in ((1, 64), (2, 64), (4, 64), (16, 64), (2, 5), (2, 1024)):
            yield Scenario(f"channel of {capacity}, {workers} workers, no work",
                           all_of(workers, capacity, 0, 500_000), goals(1, 1.5))
        for workers, work_ns, items, goal in ((2, 1_000, 100_000, 1.25), (16, 1_000, 100_000, 1.25),
                                              (2, 20_000, 10_000, 0.95), (16, 20_000, 10_000, 0.95)):
            yield Scenario(f"channel of 64, {workers} workers, {work_ns // 1000} µs of work",
                           all_of(workers, 64, work_ns, items), goals(goal, cpp=None))
        for name, what, lot, goal in (("rows in memory", "memory", (), Goal("fila", "Go", 1, 1.5)),
                                      ("lots of 100", "lots", (100,), Goal("fila", "Go", 2))):
            yield Scenario(f"2 workers, {name}, no work", {
                "fila": lambda what=what: self.ours("bench_in_process", do=what, workers=2, items=1_000_000 // share),
                "Go": lambda lot=lot: self.peer("channels", 2, 0, 64, 1_000_000, *lot),
            }, [goal])

    # ---- the whole ------------------------------------------------------------------------------

    def measure(self, scenario):
        """Round by round, each after the other: whatever disturbs a round disturbs all of it. One result a figure."""
        runs, absent = {who: [] for who in scenario.contestants}, {}
        for _ in range(self.rounds):
            for who, contestant in scenario.contestants.items():
                if who in absent:
                    continue
                try:
                    runs[who].append(contestant())
                except Absent as reason:
                    if self.quick and not isinstance(reason, LeftOut):
                        raise
                    absent[who] = str(reason)
        if not scenario.more:
            return [self.compared(scenario.name, scenario.unit, scenario.pairs(), runs, absent)]
        results = []
        for i, (figure, unit) in enumerate([("", scenario.unit), *scenario.more.items()]):
            figures = {who: [run[i] for run in of] for who, of in runs.items()}
            unknown = {who: "this server does not tell" for who, of in figures.items() if None in of}
            name = f"{scenario.name}, {figure}" if figure else scenario.name
            results.append(self.compared(name, unit, [] if figure else scenario.pairs(), figures,
                                         {**absent, **unknown}))
            if figure:  # that they are absent has been said
                results[-1]["results"] = [r for r in results[-1]["results"] if r["who"] not in absent]
        return results

    @staticmethod
    def compared(name, unit, pairs, figures, absent):
        results = [{"who": who, "absent": absent[who]} if who in absent else
                   {"who": who, "rates": figures[who], "median": statistics.median(figures[who])}
                   for who in figures]
        ratios = []
        for goal in pairs:
            if goal.who in absent or goal.against in absent:
                continue
            each = [mine / theirs for mine, theirs in zip(figures[goal.who], figures[goal.against])]
            ratios.append({"who": goal.who, "against": goal.against, "ratios": each,
                           "ratio": statistics.median(each), "goal": goal.text(),
                           "mark": goal.least if goal.most is None else goal.most})
        return {"scenario": name, "unit": unit, "results": results, "ratios": ratios}

    def report(self, suite, scenarios):
        def figure(value):
            return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"

        print(f"\n### {suite}\n\n| scenario | who | median | least | most | |\n|---|---|--:|--:|--:|---|")
        for scenario in scenarios:
            for r in scenario["results"]:
                if "absent" in r:
                    print(f"| {scenario['scenario']} | {r['who']} | absent | | | {r['absent']} |")
                else:
                    print(f"| {scenario['scenario']} | {r['who']} | {figure(r['median'])} | {figure(min(r['rates']))} | "
                          f"{figure(max(r['rates']))} | {scenario['unit']} |")
        if any(scenario["ratios"] for scenario in scenarios):
            print("\n| scenario | ratio | median | least | most | goal (stretch) |\n|---|---|--:|--:|--:|---|")
        for scenario in scenarios:
            for r in scenario["ratios"]:
                print(f"| {scenario['scenario']} | {r['who']} ÷ {r['against']} | **{r['ratio']:.2f}** | "
                      f"{min(r['ratios']):.2f} | {max(r['ratios']):.2f} | {r['goal']} |")
        sys.stdout.flush()
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
        pairs = [(scenario["scenario"], r) for scenario in scenarios for r in scenario["ratios"]]
        if not pairs:
            return
        names = [f"{r['who']} ÷ {r['against']}\n{name}" for name, r in pairs]
        ratios = [r["ratio"] for _, r in pairs]
        spread = [[r["ratio"] - min(r["ratios"]) for _, r in pairs], [max(r["ratios"]) - r["ratio"] for _, r in pairs]]
        figure, axes = pyplot.subplots(figsize=(10, 0.6 * len(names) + 1.2))
        # Equal names would be one bar.
        axes.barh(range(len(names)), ratios, xerr=spread)
        axes.set_yticks(range(len(names)), names)
        axes.axvline(1, color="black", linewidth=1)
        marks = [(r["mark"], row) for row, (_, r) in enumerate(pairs) if r["mark"]]
        axes.scatter([mark for mark, _ in marks], [row for _, row in marks], marker="d", color="red", zorder=3)
        if max(ratios) > 20 * min(ratios):
            axes.set_xscale("log")
        axes.invert_yaxis()
        axes.set_xlabel("ratio, median of the rounds and their spread; red: the goal")
        figure.tight_layout()
        figure.savefig(self.out / f"{suite}.svg")
        pyplot.close(figure)


SUITES = {suite.__name__: suite for suite in (
    Bench.postgres, Bench.postgres_peers, Bench.enqueue, Bench.notify, Bench.scale, Bench.backlog, Bench.steady,
    Bench.sqlite, Bench.in_process)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="where the programs are")
    parser.add_argument("--out", required=True, help="where results go")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one round of little, without peers: to see that it runs; fails if "
                        "something of it does not")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=" ".join(SUITES))
    arguments = parser.parse_args()
    for suite in arguments.suites:
        if suite not in SUITES:
            parser.error(f"'{suite}' is no suite: {' '.join(SUITES)}")
    bench = Bench(arguments)
    for suite in arguments.suites or SUITES:
        bench.report(suite, [result for scenario in SUITES[suite](bench) for result in bench.measure(scenario)])


if __name__ == "__main__":
    main()
