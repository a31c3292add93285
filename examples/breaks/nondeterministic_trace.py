"""A graph break: the trace went another way the second time."""

import threading
import time

import torch

SETTINGS = {"mode": 0}


def change() -> None:
    """Another thread that changes what the function reads, again and again."""
    for mode in range(1000):
        SETTINGS["mode"] = mode
        time.sleep(0.0001)


def program(values: torch.Tensor) -> torch.Tensor:
    for _ in range(SETTINGS["mode"] % 3):
        values = values.sin()
    return values


ARGUMENTS = (torch.ones(3),)

if __name__ == "__main__":
    threading.Thread(target=change).start()
