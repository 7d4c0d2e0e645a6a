# SPDX-License-Identifier: MIT
"""PgQueuer on PostgreSQL (PGHOST, PGUSER, PGDATABASE):

pgqueuer_jobs.py drain N     N jobs there already; batches of 500
pgqueuer_jobs.py enqueue N   enqueue of lists, 1000 a call
pgqueuer_jobs.py notify N    on an idle queue, from enqueue to the handler: the median in milliseconds, as "rate"
"""

import asyncio
import json
import logging
import statistics
import sys
import time

import asyncpg
import uvloop
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

what, jobs = sys.argv[1], int(sys.argv[2])
message = json.dumps({"to": "user@example.com", "subject": "welcome", "body": "x" * 60}).encode()
logging.disable(logging.CRITICAL)
done = 0
started = None


def show(seconds, rate=None):
    print(json.dumps({"items": jobs, "seconds": seconds, "rate": rate or jobs / seconds}))


async def enqueue(manager):
    for left in range(jobs, 0, -1000):
        n = min(left, 1000)
        await manager.queries.enqueue(["mail"] * n, [message] * n, [0] * n)


async def drain(manager, pool):
    await enqueue(manager)
    await pool.execute("VACUUM (ANALYZE) pgqueuer")
    await pool.execute("CHECKPOINT")
    start = time.perf_counter()
    await manager.run(batch_size=500, mode=QueueExecutionMode.drain)
    seconds = time.perf_counter() - start
    if done != jobs:
        raise RuntimeError(f"{done} of {jobs}")
    show(seconds)


async def notify(manager):
    global started
    worker = asyncio.create_task(manager.run())
    waits = []
    await asyncio.sleep(1)
    for _ in range(jobs):
        await asyncio.sleep(0.02)  # until the queue is idle again
        started = asyncio.get_running_loop().create_future()
        start = time.perf_counter()
        await manager.queries.enqueue("mail", message)
        waits.append((await started - start) * 1000)
    show(None, statistics.median(waits))
    manager.shutdown.set()
    await worker


async def main():
    async with asyncpg.create_pool(min_size=4, max_size=8) as pool:
        manager = QueueManager(Queries(AsyncpgPoolDriver(pool)))
        await manager.queries.install()

        @manager.entrypoint("mail")
        async def mail(job):
            global done
            done += 1
            if started is not None:
                started.set_result(time.perf_counter())

        if what == "drain":
            await drain(manager, pool)
        elif what == "notify":
            await notify(manager)
        elif what == "enqueue":
            start = time.perf_counter()
            await enqueue(manager)
            show(time.perf_counter() - start)
        else:
            raise ValueError(what)


with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
    runner.run(main())
