"""A graph break: a coroutine or asynchronous generator."""

import asyncio

import torch


async def work(values: torch.Tensor) -> torch.Tensor:
    await asyncio.sleep(0)
    return values.sin()


def program(values: torch.Tensor) -> torch.Tensor:
    return asyncio.run(work(values)).cos()


ARGUMENTS = (torch.ones(3),)
