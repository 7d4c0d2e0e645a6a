// SPDX-License-Identifier: MIT
// graphile-worker on PostgreSQL (PGHOST, PGUSER, PGDATABASE):
//
//   graphile.mjs drain batched N   N jobs there already; local queue of 500, completions in batches, 10 at once
//   graphile.mjs drain single N    one job a query, as it is by default, 10 at once
//   graphile.mjs enqueue N         addJobs, 1000 a call, two calls at once
//   graphile.mjs notify N          on an idle queue, from addJob to the task: the median in milliseconds, as "rate"
//   graphile.mjs fill N            N jobs for a group
//   graphile.mjs work              one of a group (group.mjs), as `drain batched`
//   graphile.mjs produce BYTES     one that enqueues, as `enqueue`
import { Logger, makeWorkerUtils, runTaskList } from 'graphile-worker';
import pg from 'pg';
import { setTimeout as pause } from 'node:timers/promises';
import { produceInGroup, workInGroup } from './group.mjs';

process.env.NO_LOG_SUCCESS = '1';
const [what, ...rest] = process.argv.slice(2);
const mode = what === 'drain' ? rest[0] : null;
const jobs = Number(rest.at(-1));
const logger = new Logger(() => () => {});
const payload = { to: 'user@example.com', subject: 'welcome', body: 'x'.repeat(what === 'produce' ? jobs - 60 : 60) };
const specs = (n) => Array.from({ length: n }, () => ({ identifier: 'mail', payload }));
const now = () => performance.now() / 1000;
const print = (items, seconds, rate = items / seconds) => console.log(JSON.stringify({ items, seconds, rate }));

const pool = new pg.Pool({ max: 12 });
const utils = await makeWorkerUtils({ pgPool: pool, logger });
await utils.migrate();

async function enqueue(n) {
    let left = n;
    const caller = async () => {
        while (left > 0) {
            const batch = Math.min(1000, left);
            left -= batch;
            await utils.addJobs(specs(batch));
        }
    };
    await Promise.all([caller(), caller()]);
}

async function fill() {
    await enqueue(jobs);
    await pool.query('VACUUM (ANALYZE) graphile_worker._private_jobs');
    await pool.query('CHECKPOINT');
}

const batched = { localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
                  completeJobBatchDelay: 0, failJobBatchDelay: 0 };

async function drain() {
    await fill();
    await Promise.all(Array.from({ length: 10 }, () => pool.query('SELECT 1')));
    let done = 0, all;
    const finished = new Promise((resolve) => (all = resolve));
    const start = now();
    const worker = runTaskList(
        { logger, preset: { worker: { concurrentJobs: 10, ...(mode === 'batched' ? batched : {}) } } },
        { mail: () => { if (++done === jobs) all(); } }, pool);
    await finished;
    // The last completions are still on their way.
    const open = async () => (await pool.query('SELECT EXISTS (SELECT FROM graphile_worker._private_jobs) AS open')).rows[0].open;
    while (await open()) await pause(1);
    print(jobs, now() - start);
    await worker.gracefulShutdown();
}

async function notify() {
    let started;
    const worker = runTaskList({ logger, preset: { worker: { concurrentJobs: 4 } } }, { mail: () => started(now()) }, pool);
    const waits = [];
    await pause(500);
    for (let i = 0; i < jobs; ++i) {
        await pause(20); // until the queue is idle again
        const start = now();
        const begun = new Promise((resolve) => (started = resolve));
        await utils.addJob('mail', payload);
        waits.push((await begun - start) * 1000);
    }
    waits.sort((a, b) => a - b);
    print(jobs, null, waits[jobs >> 1]);
    await worker.gracefulShutdown();
}

// Counts what tasks have done: that the last of it is still on its way to the database is in its favour.
async function work() {
    let done = 0;
    await workInGroup(() => done, () => {
        const worker = runTaskList({ logger, preset: { worker: { concurrentJobs: 10, ...batched } } },
                                   { mail: () => { ++done; } }, pool);
        return () => worker.gracefulShutdown();
    });
}

if (what === 'drain') await drain();
else if (what === 'fill') await fill();
else if (what === 'work') await work();
else if (what === 'produce') await produceInGroup(1000, 2, (lot) => utils.addJobs(specs(lot)));
else if (what === 'notify') await notify();
else if (what === 'enqueue') {
    const start = now();
    await enqueue(jobs);
    print(jobs, now() - start);
} else throw new Error(`no '${what}'`);
process.exit(0);
