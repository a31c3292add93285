"""Polyfills of the C functions of `heapq`: Python functions that are traced in their place.

The algorithm is the textbook binary heap in the order of comparisons of CPython's Modules/_heapqmodule.c: an item that
is removed is replaced by the last one, which sinks to a leaf and rises again.
"""

from framesmith.variables.polyfills.bisect import Ordered

Heap = list[Ordered]


def rise(heap: Heap, first: int, place: int) -> None:
    """Move the item at index `place` up until its parent is not larger."""
    item = heap[place]
    while place > first:
        parent = (place - 1) >> 1
        if not item < heap[parent]:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = item


def sink(heap: Heap, place: int) -> None:
    """Move the item at index `place` down to a leaf along the smaller children, then up again."""
    first, end, item = place, len(heap), heap[place]
    child = 2 * place + 1
    while child < end:
        other = child + 1
        # Where the two are equal the right one goes up, as in CPython.
        if other < end and not heap[child] < heap[other]:
            child = other
        heap[place] = heap[child]
        place = child
        child = 2 * place + 1
    heap[place] = item
    rise(heap, first, place)


def heappush(heap: Heap, item: Ordered, /) -> None:
    """`heapq.heappush`."""
    heap.append(item)
    rise(heap, 0, len(heap) - 1)


def heappop(heap: Heap, /) -> object:
    """`heapq.heappop`."""
    if not heap:
        raise IndexError("index out of range")
    last = heap.pop()
    if not heap:
        return last
    smallest, heap[0] = heap[0], last
    sink(heap, 0)
    return smallest


def heapreplace(heap: Heap, item: Ordered, /) -> object:
    """`heapq.heapreplace`."""
    if not heap:
        raise IndexError("index out of range")
    smallest = heap[0]
    heap[0] = item
    sink(heap, 0)
    return smallest


def heappushpop(heap: Heap, item: Ordered, /) -> object:
    """`heapq.heappushpop`."""
    if heap and heap[0] < item:
        item, heap[0] = heap[0], item
        sink(heap, 0)
    return item


def heapify(heap: Heap, /) -> None:
    """`heapq.heapify`."""
    for place in range(len(heap) // 2 - 1, -1, -1):
        sink(heap, place)
