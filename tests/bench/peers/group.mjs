// SPDX-License-Identifier: MIT
// What each program of a group does, in Node; ../bench_group.hpp tells what that is.
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

const print = (n) => process.stdout.write(`${n}\n`);

/** Begins with `begin`, prints what `done` gives, and ends with what `begin` gave. */
export async function workInGroup(done, begin) {
    const lines = createInterface({ input: process.stdin });
    const over = new Promise((resolve) => lines.once('close', resolve));
    const go = new Promise((resolve) => lines.once('line', resolve));
    print('ready');
    await go;
    let said = 0;
    const say = () => { if (done() !== said) print(said = done()); };
    const timer = setInterval(say, 10);
    const end = await begin();
    await over;
    await end();
    clearInterval(timer);
    say();
}

/** Calls `makeLot` as often as is allowed, so many calls at once. */
export async function produceInGroup(lot, callers, makeLot) {
    let allowed = 0, begun = 0, made = 0, over = false;
    const lines = createInterface({ input: process.stdin });
    lines.on('line', (line) => { allowed = Number(line); });
    lines.on('close', () => { over = true; });
    print('ready');
    await Promise.all(Array.from({ length: callers }, async () => {
        while (!over) {
            if (begun + lot > allowed) {
                await pause(1);
                continue;
            }
            begun += lot;
            await makeLot(lot);
            print(made += lot);
        }
    }));
}
