# SPDX-License-Identifier: MIT
"""Who takes part: our programs and pgbench, and the peers, which are installed by name when they are first asked for.

Nothing of a peer is in this repository but the short program that drives it. A peer that cannot be installed or built on
this machine raises Absent, once and for all.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PLANNER = " ".join(
    f"-c enable_{name}=off" for name in ("seqscan", "sort", "bitmapscan", "hashjoin", "mergejoin")
) + " -c plan_cache_mode=force_generic_plan"
NODE = "22.23.3"
NPM = {
    "graphile": ["graphile-worker@0.18.0", "pg@8.23.1"],
    "boss": ["pg-boss@12.38.0", "pg@8.23.1"],
    "plainjob": ["plainjob@0.0.14", "better-sqlite3@13.2.0"],
}
PYPI = {
    "procrastinate": ["procrastinate==3.10.0", "psycopg[binary,pool]==3.3.9", "uvloop==0.23.0"],
    "pgqueuer": ["pgqueuer==1.6.0", "asyncpg==0.32.0", "uvloop==0.23.0"],
}
GO_MODULES = {
    "river": ["github.com/riverqueue/river@v0.51.2",
              "github.com/riverqueue/river/riverdriver/riverpgxv5@v0.51.2"],
    "river_sqlite": ["github.com/riverqueue/river@v0.51.2",
                     "github.com/riverqueue/river/riverdriver/riversqlite@v0.51.2", "modernc.org/sqlite@v1.62.0"],
}


class Absent(Exception):
    """A contestant that this machine cannot have, with the reason."""


class LeftOut(Absent):
    """A peer, when it is only to be seen that the rest runs."""

    def __init__(self):
        super().__init__("left out by --quick")


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


def last_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and "complete log" not in line]
    return next((line for line in reversed(lines) if "rror" in line or "requires" in line), lines[-1])[:160]


class Contestants:
    def __init__(self, build, out, quick):
        self.build = pathlib.Path(build).resolve()
        self.out = pathlib.Path(out)
        self.quick = quick
        self.conninfo = os.environ.get("FILA_TEST_POSTGRES", "")
        self.installed = {}
        self.out.mkdir(parents=True, exist_ok=True)

    # ---- ours, and the floors -------------------------------------------------------------------

    def ours(self, program, figure="rate", **options):
        if not (self.build / program).exists():
            raise Absent(f"{program} was not built")
        words = [f"{name}={value}" for name, value in options.items()]
        return json.loads(run([self.build / program, *words]))[figure]

    def fill(self, table, rows, size=120, autovacuum="off"):
        run([self.build / "bench_postgres", "do=fill", f"conninfo={self.conninfo}", f"table={table}",
             f"rows={rows}", f"bytes={size}", f"autovacuum={autovacuum}"])

    def drain(self, table, **options):
        return self.ours("bench_postgres", do="drain", conninfo=self.conninfo, table=table, **options)

    def statements(self, table):
        """What the store sends, as a function of a statement's name and its parameters' values."""
        statements = json.loads(run([self.build / "bench_postgres", "do=sql", f"table={table}"]))

        def bound(name, values):
            text, *parameters = statements[name]
            for place, parameter in reversed(list(enumerate(parameters, 1))):
                text = text.replace(f"${place}::", values[parameter] + "::")
            return text.replace("\n", " ")
        return bound

    def leased_script(self, table, batch):
        """Claim, then settle. The rows come back as two arrays."""
        bound = self.statements(table)
        owner = {"owner": "'pgbench'"}
        claim = bound("claim", {"n": str(batch), "lease": "300000000", **owner})
        column = "payload" if table == "jobs" else "payee"
        fence, source = "fence", "FROM claimed"
        if table == "jobs":  # split: what the claim returns is joined only then
            fence, source = "fila_fence", claim[claim.rindex("FROM ( "):claim.rindex(" ORDER BY fila_place")]
        claim = claim[:claim.index(' SELECT "id", fila_fence' if table == "jobs" else " SELECT * FROM claimed")]
        claim += (f" SELECT array_agg(id)::text AS ids, array_agg({fence})::text AS fences, sum(length({column})) AS bytes "
                  f"{source}")
        filled = {"word": f"array_fill('completed'::text, ARRAY[{batch}])",
                  "failure": f"array_fill(0, ARRAY[{batch}])",
                  "delay": f"array_fill(NULL::bigint, ARRAY[{batch}])",
                  "error": f"array_fill(NULL::text, ARRAY[{batch}])"}
        settle = bound("erase" if table == "jobs" else "settle", {"k": ":ids", "fence": ":fences", **owner, **filled})
        return f"{claim} \\gset\n{settle};\n"

    def transaction_script(self, table):
        """Lock a row, settle it, commit."""
        bound, guard = self.statements(table), {"guard": "'pgbench'"}
        take = bound("take", {"n": "1", **guard})
        settle = bound("erase_taken", {"k": "ARRAY[:id]", "fence": "ARRAY[:fila_fence]", **guard})
        return f"BEGIN;\n{take} \\gset\n{settle};\nCOMMIT;\n"

    def pgbench(self, table, batch, clients, rows, transaction=False):
        script = self.out / f"pgbench_{table}_{batch}{'_transaction' if transaction else ''}.sql"
        script.write_text(self.transaction_script(table) if transaction else self.leased_script(table, batch))
        # Not quite to the end: the last claims would find less than a batch.
        each = rows // batch // clients * 95 // 100
        text = run([needs("pgbench"), "-n", "-M", "prepared", "-j", "2", "-c", clients, "-t", each, "-f", script,
                    self.conninfo], env={**os.environ, "PGOPTIONS": PLANNER + " -c jit=off"})
        return batch * float(re.search(r"tps = ([\d.]+) \(without", text).group(1))

    def pool(self, name, **options):
        """A C++ peer: there if the compiler found its headers."""
        if self.quick:
            raise LeftOut
        if name not in json.loads(run([self.build / "pools", "do=list"])):
            raise Absent("its headers are not on this machine, nor in CMAKE_INCLUDE_PATH")
        return self.ours("pools", do=name, **options)

    # ---- peers: each in a directory of its own, with a program that answers as ours do ------------

    def peer(self, name, *arguments, program=None, database=False, environment=None):
        """Runs PROGRAM (default: NAME) of the peer NAME; on a database made anew, if it needs one."""
        command = self.command(name, program or name)
        environment = {**os.environ, **(environment or {}), **(self.fresh_database(name) if database else {})}
        try:
            return json.loads(run([*command, *arguments], env=environment, timeout=300))["rate"]
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            raise self.failed(error) from error

    @staticmethod
    def failed(error):
        return Absent(f"failed: {last_line(error)}")

    def fresh_database(self, name):
        """Makes the database NAME anew; the environment in which a peer finds it."""
        server = dict(word.split("=", 1) for word in self.conninfo.split())
        for statement in (f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name}"):
            run([needs("psql"), "-q", "-d", self.conninfo, "-c", statement])
        return {**os.environ, "PGHOST": server["host"], "PGUSER": server["user"], "PGDATABASE": name}

    def command(self, name, program):
        if self.quick:
            raise LeftOut
        if name not in self.installed:
            try:
                make = self.npm if name in NPM else self.pypi if name in PYPI else self.go_modules
                self.installed[name] = make(name)
            except Absent as reason:
                self.installed[name] = reason
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                self.installed[name] = Absent(f"cannot be installed: {last_line(error)}")
        if isinstance(self.installed[name], Absent):
            raise self.installed[name]
        interpreter, where, suffix = self.installed[name]
        if suffix == ".go":
            return [where / program]
        # Node looks for packages from where a program lies.
        if suffix == ".mjs":
            for name in (program, "group"):
                shutil.copy(HERE / "peers" / f"{name}.mjs", where)
            return [interpreter, where / f"{program}.mjs"]
        return [interpreter, HERE / "peers" / f"{program}.py"]

    def directory(self, name, wanted):
        """Where the peer goes, and whether exactly this is there already."""
        where = self.build / "peers" / name
        mark = where / "installed.json"
        if mark.exists() and json.loads(mark.read_text()) == wanted:
            return where, True
        shutil.rmtree(where, ignore_errors=True)
        where.mkdir(parents=True)
        return where, False

    @staticmethod
    def done(where, wanted):
        (where / "installed.json").write_text(json.dumps(wanted))

    def npm_install(self, name, packages, node=None):
        where, there = self.directory(name, packages)
        if not there:
            (where / "package.json").write_text('{"private": true}')
            path = os.environ["PATH"] if node is None else f"{node.parent}:{os.environ['PATH']}"
            run([needs("npm"), "install", "--no-audit", "--no-fund", *packages], cwd=where, timeout=600,
                env={**os.environ, "PATH": path})
            self.done(where, packages)
        return where

    def npm(self, name):
        """The peers want a Node of 2025; where the machine's is older, npm has one."""
        version = run([needs("node"), "--version"]).strip().lstrip("v").split(".")
        node = pathlib.Path(needs("node"))
        if tuple(map(int, version[:2])) < (22, 18):
            node = self.npm_install("node", [f"node@{NODE}"]) / "node_modules" / ".bin" / "node"
            run([node, "--version"])
        return node, self.npm_install(name, NPM[name], node), ".mjs"

    def pypi(self, name):
        where, there = self.directory(name, PYPI[name])
        if not there:
            run([sys.executable, "-m", "venv", where / "venv"])
            run([where / "venv/bin/pip", "install", "--quiet", *PYPI[name]], timeout=600)
            self.done(where, PYPI[name])
        return where / "venv/bin/python", where, ".py"

    def go_modules(self, name):
        source = (HERE / "peers" / f"{name}.go").read_text()
        where, there = self.directory(name, [*GO_MODULES.get(name, []), source])
        if not there:
            go = needs("go")
            version = re.search(r"go(\d+)\.(\d+)", run([go, "version"]))
            if name in GO_MODULES and tuple(map(int, version.groups())) < (1, 21):
                raise Absent(f"needs Go 1.21, which gets what is newer by itself; here is {version.group()}")
            (where / "main.go").write_text(source)
            run([go, "mod", "init", name], cwd=where)
            if name in GO_MODULES:
                run([go, "get", *GO_MODULES[name]], cwd=where, timeout=600)
            run([go, "build", "-o", where / name], cwd=where, timeout=600)
            self.done(where, [*GO_MODULES.get(name, []), source])
        return None, where, ".go"
