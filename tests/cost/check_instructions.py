# SPDX-License-Identifier: MIT
"""Holds down how many instructions a row takes: check_instructions.py VALGRIND PROGRAM AT_MOST

Instructions are counted by callgrind, so the figure is the same whatever else the machine does. The difference of two
runs leaves out what a drain costs by itself."""
import re
import subprocess
import sys

FEW, MANY = 20_000, 60_000


def instructions(valgrind: str, program: str, rows: int) -> int:
    run = subprocess.run(
        [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*drained*", program, str(rows)],
        capture_output=True, text=True, check=False)
    counted = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or not counted:
        sys.exit(f"{program} {rows} under callgrind:\n{run.stderr}")
    return int(counted[1])


def main() -> None:
    valgrind, program, at_most = sys.argv[1], sys.argv[2], float(sys.argv[3])
    few, many = (instructions(valgrind, program, rows) for rows in (FEW, MANY))
    each = (many - few) / (MANY - FEW)
    print(f"{each:.0f} instructions a row, at most {at_most:.0f}")
    if not 0 < each <= at_most:
        sys.exit("a row that asks for nothing costs more than it did: what was added to each row's way?")


main()
