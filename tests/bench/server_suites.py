# SPDX-License-Identifier: MIT
"""Suites over one PostgreSQL with several programs at once: more processes, a backlog, producing and consuming."""

import contextlib
import os
import subprocess

from contestants import Absent, Contestants, needs, run
from group import Group, curve, sustained
from scenario import Goal, Scenario

# NAME is the database that is worked on.
COUNTS = "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn, xact_commit FROM pg_stat_database WHERE datname = 'NAME'"
# Without commits: they are counted only where they are statements of their own.
STATEMENTS = ("SELECT sum(total_exec_time) * 1000 FROM pg_stat_statements WHERE toplevel AND query !~* '^commit' "
              "AND dbid = (SELECT oid FROM pg_database WHERE datname = 'NAME')")
# What a backend did is counted when it has gone.
GONE = ("DO $$ BEGIN WHILE EXISTS (SELECT FROM pg_stat_activity WHERE datname = 'NAME' AND pid <> pg_backend_pid() "
        "AND backend_type = 'client backend') LOOP PERFORM pg_sleep(0.01), pg_stat_clear_snapshot(); END LOOP; END $$")


class ServerSuites(Contestants):

    # ---- ours and the peers, as programs of a group ---------------------------------------------

    def our_program(self, what, table="jobs", **options):
        if not (self.build / "bench_postgres").exists():
            raise Absent("bench_postgres was not built")
        return [self.build / "bench_postgres", f"do={what}", f"conninfo={self.conninfo}", f"table={table}",
                *(f"{name}={value}" for name, value in options.items())]

    def sql(self, statement, name=""):
        return run([needs("psql"), "-qAtX", "-d", self.conninfo, "-c", statement.replace("NAME", name)],
                   env={**os.environ, "PGOPTIONS": "-c pg_stat_statements.track=none"}).strip()

    @contextlib.contextmanager
    def peer_failures(self):
        try:
            yield
        except (RuntimeError, TimeoutError, subprocess.TimeoutExpired) as error:
            raise self.failed(error) from error

    @contextlib.contextmanager
    def statements_counted(self):
        """Those of connections made meanwhile, where the server can: the other suites do without."""
        seen = "pg_stat_statements" in self.sql("SHOW shared_preload_libraries")
        if seen:
            self.sql("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
            self.sql("ALTER ROLE postgres SET pg_stat_statements.track = 'top'")
        try:
            yield seen
        finally:
            if seen:
                self.sql("ALTER ROLE postgres RESET pg_stat_statements.track")

    def worked(self, commands, environment, rows, database):
        """The rate at which they do so many rows together; then what a row costs the server."""
        with self.statements_counted() as seen, Group(commands, environment) as group:
            if seen:
                self.sql("SELECT pg_stat_statements_reset()")
            before = self.counts(database)
            rate = curve(group, rows).rate(0, rows)
            group.end()
        self.sql(GONE, database)
        wal, commits = (now - then for now, then in zip(self.counts(database), before))
        time = float(self.sql(STATEMENTS, database)) / rows if seen else None
        return [rate, time, wal / rows, commits / rows * 1000]

    def counts(self, database):
        return [int(word) for word in self.sql(COUNTS, database).split("|")]

    # ---- more processes on one server -----------------------------------------------------------

    def scale(self):
        rows = 20_000 if self.quick else 100_000

        def ours(n):
            def measured():
                self.fill("jobs", rows)
                return self.worked([self.our_program("work", batch=100, slots=2)] * n, None, rows, "postgres")
            return measured

        def theirs(name, n, jobs):
            def measured():
                command, environment = self.command(name, name), self.fresh_database(name)
                with self.peer_failures():
                    run([*command, "fill", jobs], env=environment, timeout=300)
                    return self.worked([[*command, "work", "best"]] * n, environment, jobs, name)
            return measured

        for n in (1, 2, 4, 8):
            yield Scenario(f"{n} process{'es' * (n > 1)}", {
                "fila, batch 100, 2 slots": ours(n),
                "graphile-worker, batched": theirs("graphile", n, 60_000),
                "pg-boss, fetch 1000": theirs("boss", n, 60_000),
                "River, as its benchmark": theirs("river", n, 40_000),
            }, [Goal("fila, batch 100, 2 slots", who) for who in
                ("graphile-worker, batched", "pg-boss, fetch 1000", "River, as its benchmark")],
                "jobs/s", {"time of the server's statements": "µs a job", "WAL": "bytes a job",
                           "commits": "a thousand jobs"})

    # ---- a backlog, and dead rows ---------------------------------------------------------------

    def backlog(self):
        dead, window = (20_000, 10_000) if self.quick else (400_000, 100_000)
        few, many = (10_000, 200_000) if self.quick else (100_000, 10_000_000)

        def progress(table, rows):
            with Group([self.our_program("work", table, batch=100, slots=2)]) as group:
                points = curve(group, rows)
                group.end()
                return points

        def under_snapshot(table):
            self.fill(table, dead + 2 * window)
            with self.snapshot():
                points = progress(table, dead + window)
            return points.rate(0, window), points.rate(dead, dead + window)

        def head_of(rows):
            def measured():
                self.fill("jobs", rows)
                # Not to the end of the small one, where there is less than a batch.
                return progress("jobs", few * 9 // 10).rate(0, few * 9 // 10)
            return measured

        for table, name in (("jobs", "job table"), ("payments", "user's table")):
            start, later = f"the first {window:,} rows", f"after {dead:,} dead rows"
            yield Scenario(f"{name}, under a held snapshot",
                           self.of_one_run(lambda table=table: under_snapshot(table), start, later),
                           [Goal(later, start, 0.7, 0.85)], "jobs/s")
        yield Scenario("job table, pending rows", {f"{few:,}": head_of(few), f"{many:,}": head_of(many)},
                       [Goal(f"{many:,}", f"{few:,}", 0.9)], "jobs/s")

    @staticmethod
    def of_one_run(measured, *names):
        """Contestants that are figures of one run, which the first of them makes."""
        figures = {}

        def figure(name):
            if name == names[0]:
                figures.update(zip(names, measured()))
            return figures[name]
        return {name: lambda name=name: figure(name) for name in names}

    @contextlib.contextmanager
    def snapshot(self):
        """Held by another session: nothing that dies meanwhile can be cleaned up."""
        with subprocess.Popen([needs("psql"), "-qAtX", "-d", self.conninfo], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as session:
            try:
                session.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT 1;\n")
                session.stdin.flush()
                if session.stdout.readline().strip() != "1":
                    raise RuntimeError("the session that is to hold a snapshot failed")
                yield
                if session.poll() is not None:
                    raise RuntimeError("the snapshot was not held to the end")
            finally:
                session.stdin.close()

    # ---- producing and consuming at once --------------------------------------------------------

    def steady(self):
        seconds, ahead = (2 if self.quick else 30), 50_000

        def figures(commands, environment=None):
            with self.autovacuum(), Group(commands, environment) as pair:
                made, done = sustained(pair, seconds, ahead)
                pair.end()
            return [done / seconds, made - done]

        def ours(size):
            def measured():
                self.fill("jobs", 0, size, autovacuum="on")
                return figures([self.our_program("produce", lot=1000, bytes=size), self.our_program("work", slots=2)])
            return measured

        def theirs(name, size):
            def measured():
                command, environment = self.command(name, name), self.fresh_database(name)
                with self.peer_failures():
                    run([*command, "fill", 0], env=environment, timeout=300)
                    return figures([[*command, "produce", size], [*command, "work", "best"]], environment)
            return measured

        for size in (120, 1024):
            yield Scenario(f"payload of {size} bytes", {
                "fila, 2 slots": ours(size),
                "graphile-worker, batched": theirs("graphile", size),
                "pg-boss, fetch 1000": theirs("boss", size),
                "River, as its benchmark": theirs("river", size),
            }, [Goal("fila, 2 slots", who) for who in
                ("graphile-worker, batched", "pg-boss, fetch 1000", "River, as its benchmark")],
                "jobs/s", {"left over at the end": "jobs"})

    @contextlib.contextmanager
    def autovacuum(self):
        """On, and often enough that a run of seconds sees it."""
        settings = {"autovacuum": "on", "autovacuum_naptime": "'5s'"}
        for name, value in settings.items():
            self.sql(f"ALTER SYSTEM SET {name} = {value}")
        self.sql("SELECT pg_reload_conf()")
        try:
            yield
        finally:
            for name in settings:
                self.sql(f"ALTER SYSTEM RESET {name}")
            self.sql("SELECT pg_reload_conf()")
