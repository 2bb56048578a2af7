"""Operators that MegEngine itself puts into a graph, by the rewriting that does so, as data.

An option such as ``--enable-nchw44`` starts passes that rewrite the graph of a model. The next pass
copies what an earlier one inserted, and it does so by the operator's registration. The operator
JSON lists what the file of the model contains, so an inserted operator is not among it, and a
program without its registration ends with a null pointer (seen with 1.13: a ``Concat`` that fills
up the channels of an int8 model for nchw44). A program that has the pass has the operator's code
anyway, so its registration costs next to nothing.

Read from MegEngine 47952c075d868665e1116214bea760d786144081. Rewriting that every graph goes
through is left out: nothing copies what it inserts, unless one of these passes follows.
"""

from collections.abc import Mapping

from megtrim.core.keep.region import Region
from megtrim.engines.midout.names import name_hash

_RELAYOUT = (
    "Broadcast",
    "Concat",
    "Dimshuffle",
    "GetVarShape",
    "ImmutableTensor",
    "RelayoutFormat",
    "Reshape",
    "Subtensor",
)
"""How a tensor gets another layout; one whose channels do not fill it is padded and cut."""

_PASSES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "megbrain_folding_conv_dimshuffle": {
        "FoldingConvBiasDimshufflePass::apply": ("ConvBiasForward", "TypeCvt"),
    },
    "megbrain_folding_conv_typecvt": {
        "FoldingConvBiasTypecvtPass::apply": ("ConvBiasForward", "TypeCvt"),
    },
    "megbrain_folding_global_pooling": {
        "FoldingGlobalPoolingPass::apply": ("AdaptivePoolingForward",),
    },
    "megbrain_folding_reduce_mean": {
        "FoldingReduceMeanPass::apply": ("AxisAddRemove", "Reduce"),
    },
    "megbrain_fuse_nchw4_int8_preprocess": {
        "FuseNCHW4Int8Preprocess::apply": _RELAYOUT,
        "FuseWarpPerspectiveDimshufflePass::apply": ("WarpPerspectiveForward",),
    },
    "megbrain_global_layout_transform": {
        "apply": _RELAYOUT,
    },
    "megbrain_inference": {
        "ConvertF32ToF16Pass::apply": ("TypeCvt",),
        "ConvertFormatPass::apply": _RELAYOUT,
        "FuseConvBiasNonlinPass::apply": ("ConvBiasForward",),
        "FuseConvBiasZPass::apply": ("ConvBiasForward",),
    },
    "megbrain_padding_channel": {
        "PaddingChannelPass::apply": ("Concat", "ImmutableTensor", "Subtensor"),
    },
    "megbrain_tensor_reformat": {
        "ShuffleShuffleRemovePass::apply": (*_RELAYOUT, "TypeCvt"),
        "TensorReformatPass::apply": _RELAYOUT,
    },
}

INSERTED: Mapping[Region, tuple[str, ...]] = {
    Region(tag=tag, args=(name_hash(name, terminated=True),)): operators
    for tag, passes in _PASSES.items()
    for name, operators in passes.items()
}
"""The region of each pass, with the classes of the operators that it may insert."""
