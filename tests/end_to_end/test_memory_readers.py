"""Operations whose C++ code reads a tensor's memory: a fake has none, so they run between two graphs."""

import pytest
import torch
from tests.end_to_end.support import check
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence

from framesmith import frontend


def packed(length: int) -> object:
    """Two sequences."""
    return pack_sequence([torch.ones(length, 3), torch.ones(max(length - 1, 1), 3)])


class Recurrent(torch.nn.Module):
    """A recurrent layer over a packed sequence of any length."""

    def __init__(self, kind, **options):
        super().__init__()
        self.layer = kind(3, 4, **options)

    def forward(self, lengths):
        sequences = pack_sequence([torch.ones(length, 3) for length in lengths])
        return self.layer(sequences)[0].data * 2


KINDS = [(torch.nn.LSTM, {}), (torch.nn.GRU, {"bidirectional": True}), (torch.nn.RNN, {"nonlinearity": "relu"}), (torch.nn.RNN, {})]  # fmt: skip


@pytest.mark.parametrize(("kind", "options"), KINDS)
@pytest.mark.parametrize("dynamic", [None, True])
def test_a_recurrent_layer_takes_packed_sequences_of_any_length(kind, options, dynamic):
    check(
        Recurrent(kind, **options),
        [3, 2],
        calls=4,
        change=lambda lengths: lengths.insert(0, lengths[0] + 1),
        options={"dynamic": dynamic},
        backward=False,
    )


@pytest.mark.parametrize("dynamic", [None, False, True])
def test_a_packed_sequence_as_an_argument_is_one_break(dynamic):
    layer = torch.nn.GRU(3, 4)
    report = check(lambda given: layer(given)[0].data * 2, packed(3), options={"dynamic": dynamic})
    assert len(report.breaks) == 1, report.breaks


def test_packing_and_unpacking_around_a_layer_is_eager():
    layer = torch.nn.GRU(3, 4)

    def run(x, lengths):
        given = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(layer(given)[0])[0].sum(0)

    check(run, torch.ones(2, 5, 3), torch.tensor([4, 5]), options={"dynamic": True})


def test_packing_where_results_of_any_size_are_captured():
    def run(x, lengths):
        given = pack_padded_sequence(x, lengths, batch_first=True)
        is_whole = given.batch_sizes.dtype is torch.int64
        return given.data.shape[0] * torch.ones(1), is_whole, given.batch_sizes + 0

    x, lengths = torch.randn(2, 4, 3), torch.tensor([4, 2])
    with frontend.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
        torch.testing.assert_close(frontend.compile(run, backend="eager")(x, lengths), run(x, lengths))
        with pytest.raises(frontend.FullGraphError, match="torch gives its fake the sizes of one sequence"):
            frontend.compile(run, backend="eager", fullgraph=True)(x, lengths)


OPERATIONS = {
    "split": lambda x: torch.tensor_split(x, torch.tensor([1, 2])),
    "repeat": lambda x: torch.repeat_interleave(x, torch.tensor([1, 2, 0])),
    "foreach": lambda x: torch._foreach_addcdiv([x, x], [x, x], [x, x], torch.tensor([2.0, 3.0])),
    "foreach one": lambda x: torch._foreach_mul([x, x], torch.tensor(2.0)),
    "histogramdd": lambda x: torch.histogramdd(x[:, None], [torch.arange(3.0)])[0],
    "lengths": lambda x: torch.segment_reduce(x, "sum", lengths=torch.tensor([1, 2])),
    "pointer": lambda x: (x + 1).data_ptr() != 0,
    "numpy": lambda x: (x + 1).numpy() + 1,
    "view of memory": lambda x: bytes(memoryview((x + 1).numpy())),
    "storage": lambda x: list((x + 1).untyped_storage()),
    "dlpack": lambda x: torch.from_dlpack(x + 1),
    "list": lambda x: (x + 1).tolist(),
    "sparse": lambda x: x.to_sparse().to_dense(),
    "aten": lambda x: torch.ops.aten.tensor_split.tensor_indices_or_sections(x, torch.tensor([1, 2])),
    "arange": lambda x: torch.arange(x[0] + 3),
    "zeros": lambda x: torch.zeros(x[0].long() + 2),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_what_reads_data_gives_what_eager_gives(name, dynamic):
    check(OPERATIONS[name], torch.ones(3), options={"dynamic": dynamic})
