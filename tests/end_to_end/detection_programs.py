"""Programs as detection and tagging models write them: boxes kept by their scores, lists of results of any size, cached anchors.

`PROGRAMS` has each with a function that makes its arguments for the call of a number, of which sizes and contents depend.
"""

import itertools
import math
from collections.abc import Callable
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

torch.manual_seed(0)


def random(seed: int, *sizes: int) -> Tensor:
    """Numbers from 0 to 1."""
    return torch.rand(*sizes, generator=torch.Generator().manual_seed(seed))


def random_boxes(seed: int, count: int) -> Tensor:
    """Boxes by two corners."""
    first = random(seed, count, 2) * 20
    return torch.cat([first, first + random(seed + 100, count, 2) * 20 + 2], 1)


def area(boxes: Tensor) -> Tensor:
    """The areas of boxes."""
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def overlap(one: Tensor, other: Tensor) -> Tensor:
    """The intersection of each pair of boxes over their union."""
    sides = torch.min(one[:, None, 2:], other[:, 2:]) - torch.max(one[:, None, :2], other[:, :2])
    shared = sides.clamp(min=0).prod(2)
    return shared / (area(one)[:, None] + area(other) - shared)


def suppress(boxes: Tensor, scores: Tensor, limit: float) -> Tensor:
    """Non-maximum suppression: the indices of boxes that no better one overlaps."""
    keep, order = [], scores.argsort(descending=True)
    while order.numel() > 0:
        best = order[0]
        keep.append(best)
        if order.numel() == 1:
            break
        order = order[1:][overlap(boxes[best][None], boxes[order[1:]])[0] <= limit]
    return torch.stack(keep)


class Anchors(nn.Module):
    """Boxes around the points of a grid, made once for each size."""

    def __init__(self) -> None:
        super().__init__()
        self.cache: dict[tuple[tuple[int, ...], int], Tensor] = {}

    def forward(self, size: tuple[int, ...], stride: int) -> Tensor:
        """Two boxes for each point."""
        key = tuple(size), stride
        if key not in self.cache:
            rows, columns = (torch.arange(one) * stride for one in size)
            y, x = torch.meshgrid(rows, columns, indexing="ij")
            shifts = torch.stack([x, y, x, y], -1).reshape(-1, 1, 4)
            base = torch.tensor([[-8.0, -8, 8, 8], [-16, -16, 16, 16]])
            self.cache[key] = (shifts + base).reshape(-1, 4)
        return self.cache[key]


class Proposals(nn.Module):
    """A region proposal network."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Conv2d(3, 8, 3, padding=1, stride=4)
        self.scores, self.changes = nn.Conv2d(8, 2, 1), nn.Conv2d(8, 8, 1)
        self.anchors = Anchors()

    def forward(self, images: Tensor) -> list[dict[str, Tensor]]:
        """The boxes and scores of each image."""
        found = F.relu(self.features(images))
        scores = self.scores(found).permute(0, 2, 3, 1).reshape(len(images), -1)
        changes = self.changes(found).permute(0, 2, 3, 1).reshape(len(images), -1, 4)
        anchors = self.anchors(found.shape[-2:], 4)
        if not torch.jit.is_scripting():
            assert len(anchors) == scores.shape[1]
        results = torch.jit.annotate(list[dict[str, Tensor]], [])
        for one, change in zip(scores, changes, strict=True):
            best, index = one.topk(min(20, len(one)))
            boxes = anchors[index] + change[index] * 4
            x, y = boxes[:, 0::2].clamp(0, images.shape[-1]), boxes[:, 1::2].clamp(0, images.shape[-2])
            boxes = torch.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], 1)
            is_large = (boxes[:, 2] - boxes[:, 0] >= 1e-3) & (boxes[:, 3] - boxes[:, 1] >= 1e-3)
            kept = torch.where(is_large & (best.sigmoid() > 0.3))[0]
            boxes, best = boxes[kept], best[kept]
            kept = suppress(boxes, best, 0.5)[:10]
            results.append({"boxes": boxes[kept], "scores": best[kept]})
        return results


class Pyramid(nn.Module):
    """A feature pyramid, and what is in boxes at the level of their size."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 2, 1)])
        self.side = nn.ModuleList([nn.Conv2d(8, 8, 1), nn.Conv2d(8, 8, 1)])
        self.head = nn.Linear(8 * 9, 5)

    def forward(self, images: Tensor, boxes: list[Tensor]) -> list[Tensor]:
        """The numbers of each box, by image."""
        found = []
        for layer in self.down:
            images = F.relu(layer(images))
            found.append(images)
        levels = [self.side[-1](found[-1])]
        for layer, one in reversed(list(zip(self.side[:-1], found[:-1], strict=True))):
            levels.insert(0, layer(one) + F.interpolate(levels[0], size=one.shape[-2:], mode="nearest"))
        counts, every = [len(one) for one in boxes], torch.cat(boxes)
        level = torch.floor(2 + torch.log2(area(every).sqrt() / 16 + 1e-6)).clamp(0, 1).long()
        image = torch.cat([torch.full((count,), place) for place, count in enumerate(counts)])
        pooled = torch.zeros(len(every), 8 * 9)
        for number, features in enumerate(levels):
            index = torch.where(level == number)[0]
            if index.numel() == 0:
                continue
            parts = []
            for place in index.tolist():
                left, top, right, bottom = (every[place] / 2 ** (number + 1)).round().int().tolist()
                part = features[image[place], :, top : max(bottom, top + 1), left : max(right, left + 1)]
                parts.append(F.adaptive_max_pool2d(part, 3).flatten())
            pooled[index] = torch.stack(parts)
        return list(self.head(pooled).split(counts))


PROPOSALS, PYRAMID = Proposals().eval(), Pyramid().eval()


@torch.no_grad()
def propose(images: Tensor) -> object:
    """Regions of two images."""
    return PROPOSALS(images)


@torch.no_grad()
def pool(images: Tensor, boxes: list[Tensor]) -> object:
    """Boxes of two images."""
    return PYRAMID(images, boxes)


def match(logits: Tensor, boxes: Tensor, labels: list[Tensor], targets: list[Tensor]) -> object:
    """A loss after the assignment of queries to targets, which is done elsewhere, on lists."""
    cost = torch.cdist(boxes.flatten(0, 1), torch.cat(targets), p=1)
    cost = (cost - logits.flatten(0, 1).softmax(-1)[:, torch.cat(labels)]).view(2, 6, -1)
    parts = enumerate(cost.split([len(one) for one in labels], -1))
    pairs = [assign(part[place].tolist()) for place, part in parts]
    chosen = [(torch.as_tensor(rows), torch.as_tensor(columns)) for rows, columns in pairs]
    batch = torch.cat([torch.full_like(rows, place) for place, (rows, _) in enumerate(chosen)])
    source = torch.cat([rows for rows, _ in chosen])
    wanted = torch.full((2, 6), 4)
    wanted[batch, source] = torch.cat(
        [one[columns] for one, (_, columns) in zip(labels, chosen, strict=True)]
    )
    given = torch.cat([one[columns] for one, (_, columns) in zip(targets, chosen, strict=True)])
    distance = F.l1_loss(boxes[batch, source], given, reduction="none").sum() / max(sum(map(len, labels)), 1)
    return F.cross_entropy(logits.transpose(1, 2), wanted) + distance


def assign(cost: list[list[float]]) -> tuple[list[int], list[int]]:
    """The rows for all columns whose costs sum up to the least."""
    columns = range(len(cost[0]))
    best = min(
        itertools.permutations(range(len(cost)), len(columns)),
        key=lambda rows: sum(cost[row][column] for row, column in zip(rows, columns, strict=True)),
    )
    return list(best), list(columns)


def decode(outputs: list[Tensor], limit: float) -> object:
    """The boxes of two scales by their scores, for each image."""
    found, sides = [], torch.tensor([[10.0, 13], [16, 30], [33, 23]])
    for place, output in enumerate(outputs):
        size = output.shape[-2:]
        raw = output.view(2, 3, 8, *size).permute(0, 1, 3, 4, 2)
        y, x = torch.meshgrid(*map(torch.arange, size), indexing="ij")
        one = raw.contiguous().sigmoid()
        middle = (one[..., :2] * 2 - 0.5 + torch.stack((x, y), 2).view(1, 1, *size, 2)) * (8 * 2**place)
        extent = (one[..., 2:4] * 2) ** 2 * sides.view(1, 3, 1, 1, 2)
        found.append(torch.cat((middle, extent, one[..., 4:]), -1).view(2, -1, 8))
    results = [torch.zeros((0, 6))] * 2
    for place, one in enumerate(torch.cat(found, 1)):
        one = one[one[:, 4] > limit]
        if not one.shape[0]:
            continue
        one[:, 5:] *= one[:, 4:5]
        corners = torch.cat([one[:, :2] - one[:, 2:4] / 2, one[:, :2] + one[:, 2:4] / 2], 1)
        score, kind = one[:, 5:].max(1, keepdim=True)
        one = torch.cat((corners, score, kind.float()), 1)[score.view(-1) > limit / 2]
        if one.shape[0]:
            one = one[one[:, 4].argsort(descending=True)[:30]]
            results[place] = one[suppress(one[:, :4] + one[:, 5:6] * 4096, one[:, 4], 0.45)]
    return results


def priors(sizes: list[int], extent: float) -> object:
    """Boxes of several ratios around the points of three grids."""
    found = []
    for level, size in enumerate(sizes):
        for row, column in itertools.product(range(size), repeat=2):
            x, y, scale = (column + 0.5) / size, (row + 0.5) / size, 0.1 * (level + 1)
            found.append([x, y, scale, scale])
            for ratio in (2, 3):
                wide, narrow = scale * math.sqrt(ratio), scale / math.sqrt(ratio)
                found += [[x, y, wide, narrow], [x, y, narrow, wide]]
    return torch.tensor(found).view(-1, 4).clamp_(max=1, min=0) * extent


def tag(scores: Tensor, mask: Tensor, step: Tensor) -> object:
    """Viterbi decoding: the best tags of sentences of different lengths."""
    total, history = scores[:, 0], []
    for place in range(1, scores.shape[1]):
        best, index = (total.unsqueeze(2) + step + scores[:, place].unsqueeze(1)).max(1)
        total = torch.where(mask[:, place].unsqueeze(1), best, total)
        history.append(index)
    results = []
    for row, end in enumerate(mask.long().sum(1) - 1):
        tags = [int(total[row].argmax())]
        for index in reversed(history[:end]):
            tags.append(index[row][tags[-1]].item())
        results.append(tags[::-1])
    return results, total


def _for_match(number: int) -> tuple[object, ...]:
    labels = [torch.tensor([1, 2]), torch.tensor([0] * (1 + number % 3))]
    targets = [random(number + 2, len(one), 4) for one in labels]
    return random(number, 2, 6, 5), random(number + 1, 2, 6, 4), labels, targets


def _for_tag(number: int) -> tuple[object, ...]:
    count = 5 + number % 2
    mask = torch.arange(count)[None] < torch.tensor([[5], [3 + number % 2]])
    return random(number, 2, count, 4), mask, random(50, 4, 4)


PROGRAMS: Final[dict[Callable[..., object], Callable[[int], tuple[object, ...]]]] = {
    propose: lambda number: (random(number, 2, 3, 32 + 8 * (number % 3), 40),),
    pool: lambda number: (
        random(number, 2, 3, 48, 48 + 16 * (number % 2)),
        [random_boxes(number, 3 + number % 2), random_boxes(number + 7, 2)],
    ),
    match: _for_match,
    decode: lambda number: (
        [random(number, 2, 24, 4 + number % 2, 4) * 4 - 2, random(number + 1, 2, 24, 2, 2) * 4 - 2],
        0.4 + 0.05 * number,
    ),
    priors: lambda number: ([3 + number % 2, 2, 1], 300.0 + number),
    tag: _for_tag,
}
