// SPDX-License-Identifier: MIT
// pg-boss on PostgreSQL (PGHOST, PGUSER, PGDATABASE):
//
//   boss.mjs drain N     N jobs there already; four loops of fetch 1000, complete
//   boss.mjs single N    the same, ten loops of fetch 1, complete
//   boss.mjs enqueue N   insert, 1000 a call, four calls at once
//   boss.mjs notify N    on an idle queue, from send to the handler: the median in milliseconds, as "rate"
//   boss.mjs fill N      N jobs for a group
//   boss.mjs work        one of a group (group.mjs), as `drain`
//   boss.mjs produce N   one that enqueues jobs of N bytes, as `enqueue`
import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { setTimeout as pause } from 'node:timers/promises';
import { produceInGroup, workInGroup } from './group.mjs';

const [what, n] = process.argv.slice(2);
const jobs = Number(n);
const queue = 'mail';
const data = { to: 'user@example.com', subject: 'welcome', body: 'x'.repeat(what === 'produce' ? jobs - 60 : 60) };
const now = () => performance.now() / 1000;
const print = (items, seconds, rate = items / seconds) => console.log(JSON.stringify({ items, seconds, rate }));
const at_once = (n, f) => Promise.all(Array.from({ length: n }, f));

const { PGHOST: host, PGUSER: user, PGDATABASE: database } = process.env;
const boss = new PgBoss({ host, user, database, max: 12, supervise: false, schedule: false, useListenNotify: what === 'notify' });
boss.on('error', (error) => { throw error; });
await boss.start();
await boss.createQueue(queue, { notify: what === 'notify' });

async function enqueue() {
    let left = jobs;
    await at_once(4, async () => {
        while (left > 0) {
            const batch = Math.min(1000, left);
            left -= batch;
            await boss.insert(queue, Array.from({ length: batch }, () => ({ data })));
        }
    });
}

async function fill() {
    await enqueue();
    const pool = new pg.Pool();
    await pool.query('VACUUM (ANALYZE)');
    await pool.query('CHECKPOINT');
}

async function drain(batchSize, loops) {
    await fill();
    let done = 0;
    const start = now();
    await at_once(loops, async () => {
        for (;;) {
            const batch = await boss.fetch(queue, { batchSize });
            if (batch.length === 0) return;
            await boss.complete(queue, batch.map((job) => job.id));
            done += batch.length;
        }
    });
    if (done !== jobs) throw new Error(`${done} of ${jobs}`);
    print(jobs, now() - start);
}

async function work(batchSize, loops) {
    let done = 0, over = false;
    await workInGroup(() => done, () => {
        const ended = at_once(loops, async () => {
            while (!over) {
                const batch = await boss.fetch(queue, { batchSize });
                if (batch.length === 0) await pause(10);
                else await boss.complete(queue, batch.map((job) => job.id));
                done += batch.length;
            }
        });
        return () => { over = true; return ended; };
    });
}

async function notify() {
    let started;
    await boss.work(queue, async () => started(now()));
    const waits = [];
    await pause(1000);
    for (let i = 0; i < jobs; ++i) {
        await pause(20); // until the queue is idle again
        const start = now();
        const begun = new Promise((resolve) => (started = resolve));
        await boss.send(queue, data);
        waits.push((await begun - start) * 1000);
    }
    waits.sort((a, b) => a - b);
    print(jobs, null, waits[jobs >> 1]);
}

if (what === 'drain') await drain(1000, 4);
else if (what === 'single') await drain(1, 10);
else if (what === 'fill') await fill();
else if (what === 'work') await work(1000, 4);
else if (what === 'produce') await produceInGroup(1000, 4, (lot) => boss.insert(queue, Array(lot).fill({ data })));
else if (what === 'notify') await notify();
else if (what === 'enqueue') {
    const start = now();
    await enqueue();
    print(jobs, now() - start);
} else throw new Error(`no '${what}'`);
process.exit(0);
