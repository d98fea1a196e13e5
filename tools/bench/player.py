"""The process of one side: times the workloads that it is told to, one line of JSON each.

``python -m tools.bench.player`` runs the SDK that it finds; ``--shim`` imports the shim first.
"""

from __future__ import annotations

import asyncio
import json
import sys


def main() -> None:
    """Answer each line ``[workload, argument]`` with the seconds that it took."""
    if "--shim" in sys.argv[1:]:
        import shim

    from tools.bench.workloads import WORKLOADS

    if "--shim" in sys.argv[1:]:
        states = {fix.state for fix in shim.status().fixes.values()}
        assert states == {"applied"}, f"the shim is {states}"

    async def play() -> None:
        for line in sys.stdin:
            workload, argument = json.loads(line)
            print(json.dumps(await WORKLOADS[workload](argument)), flush=True)

    asyncio.run(play())


if __name__ == "__main__":
    main()
