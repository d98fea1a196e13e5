"""What a connection may leave behind: tasks of the event loop, and sockets of this process."""

from __future__ import annotations

import asyncio
from typing import Any

import psutil

from .waiting import PATIENCE, until


def running_tasks() -> set[asyncio.Task[Any]]:
    """Return the tasks of the running loop that have not ended, but for the current one."""
    return {each for each in asyncio.all_tasks() if each is not asyncio.current_task()}


def client_sockets(port: int) -> list[str]:
    """Return the sockets of this process that are connected to a local port, as text."""
    return [
        f"{each.laddr.port}->{port} {each.status}"
        for each in psutil.Process().net_connections(kind="tcp")
        if each.raddr and each.raddr.port == port
    ]


async def no_client_sockets(port: int, *, patience: float = PATIENCE) -> None:
    """Wait until no socket of this process is connected to the port any more."""
    await until(
        lambda: not client_sockets(port),
        lambda: f"left open: {client_sockets(port)}",
        patience=patience,
    )


async def no_tasks_beside(known: set[asyncio.Task[Any]]) -> None:
    """Wait until the known tasks are all that is left."""
    await until(
        lambda: not running_tasks() - known,
        lambda: f"left running: {sorted(map(repr, running_tasks() - known))}",
    )
