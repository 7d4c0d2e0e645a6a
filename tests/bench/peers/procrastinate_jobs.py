# SPDX-License-Identifier: MIT
"""Procrastinate on PostgreSQL (PGHOST, PGUSER, PGDATABASE):

procrastinate_jobs.py drain N     N jobs there already; 10 at once, jobs deleted when done
procrastinate_jobs.py enqueue N   batch_defer, 1000 a call
procrastinate_jobs.py notify N    on an idle queue, from defer to the task: the median in milliseconds, as "rate"
"""

import asyncio
import json
import logging
import statistics
import sys
import time

import procrastinate
import psycopg
import uvloop

what, jobs = sys.argv[1], int(sys.argv[2])
message = {"to": "user@example.com", "subject": "welcome", "body": "x" * 60}
app = procrastinate.App(connector=procrastinate.PsycopgConnector(min_size=4, max_size=12))
logging.disable(logging.CRITICAL)
done = 0
started = None


@app.task(name="mail")
async def mail(to, subject, body):
    global done
    done += 1
    if started is not None:
        started.set_result(time.perf_counter())


def show(seconds, rate=None):
    print(json.dumps({"items": jobs, "seconds": seconds, "rate": rate or jobs / seconds}))


async def enqueue():
    for left in range(jobs, 0, -1000):
        await mail.batch_defer_async(*[message] * min(left, 1000))


async def drain():
    await enqueue()
    async with await psycopg.AsyncConnection.connect(autocommit=True) as connection:
        await connection.execute("VACUUM (ANALYZE) procrastinate_jobs")
        await connection.execute("CHECKPOINT")
    start = time.perf_counter()
    await app.run_worker_async(wait=False, concurrency=10, delete_jobs="always", listen_notify=False,
                               install_signal_handlers=False)
    seconds = time.perf_counter() - start
    if done != jobs:
        raise RuntimeError(f"{done} of {jobs}")
    show(seconds)


async def notify():
    global started
    worker = asyncio.create_task(app.run_worker_async(concurrency=4, delete_jobs="always",
                                                      install_signal_handlers=False))
    waits = []
    await asyncio.sleep(1)
    for _ in range(jobs):
        await asyncio.sleep(0.02)  # until the queue is idle again
        started = asyncio.get_running_loop().create_future()
        start = time.perf_counter()
        await mail.defer_async(**message)
        waits.append((await started - start) * 1000)
    show(None, statistics.median(waits))
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)


async def main():
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        if what == "drain":
            await drain()
        elif what == "notify":
            await notify()
        elif what == "enqueue":
            start = time.perf_counter()
            await enqueue()
            show(time.perf_counter() - start)
        else:
            raise ValueError(what)


with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
    runner.run(main())
