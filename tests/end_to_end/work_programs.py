"""Programs with asynchronous collectives of two processes; `collective_programs` runs them.

`ENDED`: those whose graph waits for what it began, which are one graph; `LASTING`: those of which something is left.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

Program = Callable[[torch.Tensor], Any]
ENDED: list[Program] = []
LASTING: list[Program] = []


def ended(program: Program) -> Program:
    """Add a program of which nothing is left."""
    ENDED.append(program)
    return program


def lasting(program: Program) -> Program:
    """Add a program of which something is left."""
    LASTING.append(program)
    return program


@ended
def async_all_reduce(x):
    work = dist.all_reduce(x, async_op=True)
    y = torch.ones(4) * 3
    told = work.wait()
    return x + y, told


@ended
def async_all_reduce_of_a_view(x):
    work = dist.all_reduce(x[1:3], dist.ReduceOp.MAX, async_op=True)
    y = torch.ones(4) * 3
    work.wait()
    return x + y


@ended
def async_all_gather(x):
    found = [torch.zeros(4) for _ in range(2)]
    work = dist.all_gather(found, x * 2, async_op=True)
    kept = list(found)
    found.clear()
    work.wait()
    return kept


@ended
def async_all_gather_into_tensor(x):
    found = x.new_empty(8)
    work = dist.all_gather_into_tensor(found, x, async_op=True)
    y = x + 1
    work.wait()
    return found, y


@ended
def async_reduce_scatter_tensor(x):
    part = x.new_empty(2)
    work = dist.reduce_scatter_tensor(part, x * 2, async_op=True)
    assert work is not None and isinstance(work, dist.Work) and work
    work.wait()
    return part


@ended
def async_broadcast(x):
    work = dist.broadcast(x, 1, async_op=True)
    y = torch.ones(4) * 3
    work.wait()
    work.wait()  # which does nothing
    return x + y


@ended
def async_all_to_all_single(x):
    found = torch.empty_like(x)
    work = dist.all_to_all_single(found, x, async_op=True)
    y = x * 3
    work.wait()
    return found, y


@ended
def async_without_gradients(x):
    with torch.no_grad():
        weight = torch.nn.Parameter(x.clone())
        work = dist.all_reduce(weight, async_op=True)
        work.wait()
    return weight.detach() * 2


@ended
def several_works(x):
    parts = [x + number for number in range(3)]
    works = [dist.all_reduce(part, async_op=True) for part in parts]
    for work in reversed(works):
        work.wait()
    return torch.cat(parts)


@ended
def works_of_a_helper(x):
    def begin(tensor):
        return dist.all_reduce(tensor, async_op=True), tensor

    work, given = begin(x * 2)
    wait = work.wait
    other = x.sin()
    wait()
    return given + other


@ended
def a_work_beside_a_plain_collective(x):
    y, z = x * 2, x * 3
    work = dist.all_reduce(y, async_op=True)
    dist.all_reduce(z)
    work.wait()
    return y - z


@ended
def a_handled_error_while_it_lasts(x):
    work = dist.all_reduce(x, async_op=True)
    try:
        {}["absent"]
    except KeyError:
        y = torch.ones(4)
    work.wait()
    return x + y


@ended
def of_no_elements(x):
    y = x[:0].clone()
    work = dist.all_reduce(y, async_op=True)
    work.wait()
    return y


@ended
def of_one_element(x):
    y = x[:1].clone()
    work = dist.all_reduce(y, async_op=True)
    z = x + 1
    work.wait()
    return y, z


@lasting
def a_work_that_is_returned(x):
    work = dist.all_reduce(x, async_op=True)
    return finish(work), x


@torch.compiler.disable
def finish(work):
    """What the program does with a Work outside of a graph."""
    return work.wait(), work.is_completed(), type(work), len(work.get_future().value())


@lasting
def a_dropped_work(x):
    dist.all_reduce(x, async_op=True)
    dist.barrier()  # gloo begins in order, and this ends behind it
    return x * 2


@lasting
def a_work_across_a_break(x):
    work = dist.all_reduce(x, async_op=True)
    y = torch.ones(4) * 2
    torch._dynamo.graph_break()
    work.wait()
    return x + y


@lasting
def a_work_kept_after_it_ended(x):
    works = [dist.all_reduce(x, async_op=True)]
    works[0].wait()
    y = x * 2
    torch._dynamo.graph_break()
    return y + x, works[0].is_completed()


@lasting
def two_of_which_one_lasts(x):
    y, z = x * 2, x * 3
    first = dist.all_reduce(y, async_op=True)
    second = dist.all_reduce(z, async_op=True)
    first.wait()
    torch._dynamo.graph_break()
    second.wait()
    return y, z


@lasting
def asked_whether_it_ended(x):
    work = dist.all_reduce(x, async_op=True)
    while not work.is_completed():
        pass
    work.wait()
    return x + 1


@lasting
def a_future(x):
    future = dist.all_reduce(x, async_op=True).get_future()
    return future.wait()[0] + 1


@lasting
def a_time_limit(x):
    work = dist.all_reduce(x, async_op=True)
    work.wait(timeout=dist.default_pg_timeout)
    return x + 1


@lasting
def a_gradient_before_the_wait(x):
    y = x * 2
    work = dist.all_reduce(y, async_op=True)
    y.requires_grad_()
    work.wait()
    return y.detach() + 1


@lasting
def an_error_out_of_data(x):
    y, index = x * 2, torch.tensor([9])
    work = dist.all_reduce(y, async_op=True)
    try:
        x = x[index]
    except IndexError as error:
        x = len(str(error)) > 0
    work.wait()
    return x, y


@lasting
def an_error_that_leaves(x):
    y = x * 2
    works = []
    try:
        raise_behind(y, works)
    except ValueError as error:
        works[0].wait()
        return str(error), y + 1


def raise_behind(y, works):
    """Begin, and raise."""
    works.append(dist.all_reduce(y, async_op=True))
    torch._dynamo.graph_break()
    raise ValueError("behind the collective")


@lasting
def point_to_point(x):
    y, other = torch.zeros(4), 1 - dist.get_rank()
    works = [dist.isend(x * 2, other), dist.irecv(y, other)]
    for work in works:
        work.wait()
    return y + 1


@lasting
def point_to_point_together(x):
    y, z, other = torch.zeros(4), x * 2, 1 - dist.get_rank()
    pairs = [dist.P2POp(dist.isend, z, other), dist.P2POp(dist.irecv, y, other)]
    for work in dist.batch_isend_irecv(pairs):
        work.wait()
    return y + 1


@lasting
def an_async_barrier(x):
    work = dist.barrier(async_op=True)
    y = x + 1
    work.wait()
    return y


@lasting
def a_list_of_outputs_and_a_return(x):
    parts = [torch.zeros(4), torch.zeros(4)]
    work = dist.all_gather(parts, x, async_op=True)
    y = x + 1
    finish(work)
    return parts, y
