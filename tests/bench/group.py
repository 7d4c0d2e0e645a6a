# SPDX-License-Identifier: MIT
"""Programs that begin together and say how far they are; bench_group.hpp has what each of them does."""

import os
import selectors
import subprocess
import tempfile
import time


class Group:
    """Started and ready when made; killed, if they have not ended, when left."""

    def __init__(self, commands, environment=None):
        self.errors = tempfile.TemporaryFile("w+")
        self.programs = [
            subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=self.errors, env={**os.environ, **(environment or {})})
            for command in commands]
        self.rest = [b""] * len(self.programs)
        self.selector = selectors.DefaultSelector()
        for which, program in enumerate(self.programs):
            os.set_blocking(program.stdout.fileno(), False)
            self.selector.register(program.stdout, selectors.EVENT_READ, which)

    def __enter__(self):
        try:
            waiting, until = set(range(len(self.programs))), time.monotonic() + 60
            while waiting:
                waiting -= {which for which, line in self.lines(until) if line == "ready"}
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        for program in self.programs:
            program.kill()
            program.wait()

    def tell(self, which, text):
        try:
            self.programs[which].stdin.write(f"{text}\n".encode())
            self.programs[which].stdin.flush()
        except BrokenPipeError:
            self.fail(which)

    def lines(self, until):
        """What they have printed since, as soon as there is something: pairs of the program and its line."""
        events = self.selector.select(max(0, until - time.monotonic()))
        if not events and time.monotonic() >= until:
            raise TimeoutError(f"{self.programs[0].args[0]}: nothing more is done")
        found = []
        for key, _ in events:
            text = os.read(key.fd, 1 << 16)
            if not text:
                self.fail(key.data)
            *lines, self.rest[key.data] = (self.rest[key.data] + text).split(b"\n")
            found += [(key.data, line.decode()) for line in lines]
        return found

    def fail(self, which):
        self.programs[which].wait(10)
        self.errors.seek(0)
        raise RuntimeError(f"{self.programs[which].args[0]} ended too early:\n{self.errors.read()[-2000:]}")

    def end(self):
        """All are told to end, and have."""
        for program in self.programs:
            program.stdin.close()
        for which, program in enumerate(self.programs):
            # What they still print must not fill the pipe.
            os.set_blocking(program.stdout.fileno(), True)
            program.stdout.read()
            if program.wait(60) != 0:
                self.fail(which)


class Curve:
    """How much was done by when, in seconds since all began."""

    def __init__(self, points):
        self.points = points

    def rate(self, first, last):
        """Between the moments when at least so many were done."""
        (t, n), (u, m) = (next(point for point in self.points if point[1] >= rows) for rows in (first, last))
        return (m - n) / (u - t)


def curve(group, rows, patience=60):
    """Begins; ends when all together have done so many rows. Nothing done for so many seconds is a failure."""
    done, start = [0] * len(group.programs), time.monotonic()
    points = [(0.0, 0)]
    for which in range(len(done)):
        group.tell(which, "go")
    while points[-1][1] < rows:
        for which, line in group.lines(time.monotonic() + patience):
            done[which] = int(line)
        points.append((time.monotonic() - start, sum(done)))
    return Curve(points)


def sustained(pair, seconds, ahead):
    """A producer and a consumer at once: what they made and what they did in that time."""
    made = done = 0
    pair.tell(1, "go")
    pair.tell(0, ahead)
    until = time.monotonic() + seconds
    while (now := time.monotonic()) < until:
        before = done
        # Both say something many times a second; a silence of some seconds is the end of one.
        for which, line in pair.lines(max(until, now + 10)):
            made, done = (int(line), done) if which == 0 else (made, int(line))
        if done != before:
            pair.tell(0, done + ahead)
    return made, done
