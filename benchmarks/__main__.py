"""`python -m benchmarks` is `python -m benchmarks.run`, and with `console` it is bench_console."""

from __future__ import annotations

import sys

from benchmarks import bench_console, run

if __name__ == "__main__":
    if sys.argv[1:2] == ["console"]:
        sys.exit(bench_console.main(sys.argv[2:]))
    sys.exit(run.main())
