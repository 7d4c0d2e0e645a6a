// SPDX-License-Identifier: MIT
// plainjob on SQLite, as it sets it up (WAL, synchronous NORMAL), in the new file FILE:
//
//   plainjob.mjs drain FILE N WORKERS   N jobs there already; one worker here, or so many processes
//   plainjob.mjs enqueue FILE N         addMany, a thousand a call
//   plainjob.mjs single FILE N          add, one by one
import Database from 'better-sqlite3';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { better, defineQueue, defineWorker, JobStatus } from 'plainjob';

const [what, file, n, w] = process.argv.slice(2);
const jobs = Number(n), workers = Number(w);
const logger = { error: console.error, warn: console.warn, info() {}, debug() {} };
const message = { to: 'user@example.com', subject: 'welcome', body: 'x'.repeat(60) };
const now = () => performance.now() / 1000;
const print = (seconds) => console.log(JSON.stringify({ items: jobs, seconds, rate: jobs / seconds }));

if (what !== 'worker') for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
const queue = defineQueue({ connection: better(new Database(file)), logger });

function enqueue() {
    for (let left = jobs; left > 0; left -= 1000) queue.addMany('mail', Array(Math.min(left, 1000)).fill(message));
}
const check = (done) => { if (done !== jobs) throw new Error(`${done} of ${jobs}`); };

if (what === 'worker') {
    process.send('ready');
    await once(process, 'message');
    await defineWorker('mail', async () => {}, { queue, logger }).start();
} else if (what === 'drain' && workers === 1) {
    enqueue();
    let done = 0, all;
    const finished = new Promise((resolve) => (all = resolve));
    const onCompleted = () => { if (++done === jobs) all(); };
    const start = now();
    void defineWorker('mail', async () => {}, { queue, logger, onCompleted }).start();
    await finished;
    const seconds = now() - start;
    check(queue.countJobs({ status: JobStatus.Done }));
    print(seconds);
} else if (what === 'drain') {
    enqueue();
    const children = Array.from({ length: workers }, () => fork(process.argv[1], ['worker', file]));
    await Promise.all(children.map((child) => once(child, 'message')));
    const start = now();
    for (const child of children) child.send('go');
    const open = (status) => queue.countJobs({ status });
    while (open(JobStatus.Pending) + open(JobStatus.Processing) > 0) await pause(20);
    const seconds = now() - start;
    for (const child of children) child.kill();
    check(queue.countJobs({ status: JobStatus.Done }));
    print(seconds);
} else {
    const start = now();
    if (what === 'enqueue') enqueue();
    else for (let i = 0; i < jobs; ++i) queue.add('mail', message);
    const seconds = now() - start;
    check(queue.countJobs());
    print(seconds);
}
process.exit(0);
