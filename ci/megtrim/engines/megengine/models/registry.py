"""Operator types of the engine: their names in model files, and the names of their classes.

A dump stores the name of registration (``PoolingV1``), or a hash of it; operator JSON and header
use the class (``PoolingForward``). Read from MegEngine 47952c075d868665e1116214bea760d786144081.
"""

import re
from collections.abc import Mapping

import xxhash

from megtrim.libs.util.value import Value

_SEED = 20160701
_OLD_VERSIONS = ("", *(f"V{number}" for number in range(10)))
_VERSION = re.compile(r"V\d$", re.ASCII)

# Registered names by the data types of their outputs that do not depend on their inputs (Byte is
# scratch memory). The class is the name without its version, with "Forward" at the end where a +
# stands, or what follows the =. Other versions of a registered name have the same class.
_TABLE: Mapping[tuple[str, ...], str] = {
    ("Byte",): """
AdaptivePoolingBackwardV1 AdaptivePoolingV1+ ArgsortBackward BatchConvBiasForward
BatchConvBiasForwardV1 BatchNormBackwardV1 BatchNormV1+ BatchedIncrMeshIndexing BatchedMatrixMulV2
BatchedMeshIndexing BatchedSetMeshIndexing BetaRNG ConvBiasForward ConvBiasForwardV4 Convolution+
Convolution3D+ Convolution3DBackwardData Convolution3DBackwardFilter ConvolutionBackwardData
ConvolutionBackwardDataV2 ConvolutionBackwardFilter ConvolutionBackwardFilterV2 ConvolutionV2+
CorrelationBackwardData1 CorrelationBackwardData2 CorrelationForward Cross CumsumV1 CvtColor+
DctChannelSelectV1+ DeformableConvBackwardData DeformableConvBackwardDataV1
DeformableConvBackwardFilter DeformableConvBackwardFilterV1 DeformableConvForward
DeformableConvForwardV1 DeformablePSROIPoolingBackward DeformablePSROIPoolingForward Diag Dot
Dropout+ DropoutBackward ExponentialRNG FakeQuant+ FakeQuantBackward Flip+ GammaRNG GaussianBlur+
GaussianRNGV1 GeneralNorm+ GeneralNormBackward GroupLocalBackwardDataV2 GroupLocalBackwardFilterV2
GroupLocalV2+ GroupNorm+ GroupNormBackward Images2Neibs+ Images2NeibsBackward IncrMeshIndexing
IndexingIncrMultiAxisVec IndexingMultiAxisVec IndexingOneHot IndexingRemap IndexingRemapBackward
IndexingSetMultiAxisVec IndexingSetOneHot InstanceNorm+ InstanceNormBackward LRN+ LRNBackward LSQ+
LSQBackward LSTMBackward LSTMCellForward LSTMForward LayerNorm+ LayerNormBackward
LocalBackwardDataV2 LocalBackwardFilterV2 LocalShareBackwardData LocalShareBackwardDataV1
LocalShareBackwardFilter LocalShareBackwardFilterV1 LocalShareForward LocalShareForwardV1 LocalV2+
MagicMindRuntimeOpr MaskConvolutionV2 MaskPropagate MaskedFill MatrixInverse MatrixMulV2
MeshIndexing MultiHeadAttn+ MultiHeadAttnBackward MultinomialRNG Padding+ PaddingBackward
PermutationRNG PoissonRNG PoolingBackwardV1 PoolingV1+ PowC RNNBackward RNNCellForward RNNForward
ROIAlignBackwardV1 ROIPoolingBackward ReduceV2 RegionRestrictedConvolution+
RegionRestrictedConvolutionBackwardData RegionRestrictedConvolutionBackwardFilter RelayoutFormatV1
RemapBackwardDataV1 RemapBackwardMatV1 RemapV1+ Resize3D+ ResizeBackward ResizeV2+ Rotate+ SVD
SetMeshIndexing ShuffleRNG+ ShuffleRNGBackward SlidingWindowTranspose+
SlidingWindowTransposeBackward Softmax+ SoftmaxBackward TQT+ TQTBackward TensorRTRuntimeOpr
UniformRNGV1 WarpAffineV2+ WarpPerspectiveBackwardDataV2 WarpPerspectiveBackwardMatV2
WarpPerspectiveV2+ Where+ WhereBackward
""",
    (): """
AddUpdate AffineInt Alloc AssertEqual AtlasRuntimeOpr AxisAddRemove Broadcast CambriconRuntimeOpr
Concat CondExecMark CondExecMarkIfNeed CondExecMerge CondExecPred CondExecPredLogical Copy
DiagBackward Dimshuffle Elemwise ElemwiseMultiType ExternCOprRunner Eye Host2DeviceCopy Identity
ImmutableTensor IncrSubtensor Linspace MarkDynamicVar MarkNoBroadcastElemwise
MultipleDeviceTensorHolder MultipleDeviceTensorWithFormatHolder NvOf PersistentOutputStorage
ReshapeV1 SetSubtensor SharedDeviceTensor SharedDeviceTensorWithFormat Sleep Split Subtensor
TypeCvtV2 VirtualDep VirtualGrad VolatileSharedDeviceTensor opr::Loop=Loop
""",
    ("Byte", "Int32"): """
Argmax Argmin Argsort+ CheckNonFinite CondTake NMSKeepMGB=NMSKeep NonZero ROIAlignV1+ ROIPooling+
TopK
""",
    ("Int32",): """
GetVarShapeV1
""",
}

_MODES = """
RELU ABS ACOS ASIN CEIL COS EXP EXPM1 FLOOR LOG LOG1P NEGATE SIGMOID SIN TANH ABS_GRAD ADD
FLOOR_DIV MAX MIN MOD MUL POW SIGMOID_GRAD SUB SWITCH_GT0 TANH_GRAD TRUE_DIV LOG_SUM_EXP LT
LEQ EQ SHL SHR COND_LEQ_MOV FUSE_MUL_ADD3 FUSE_MUL_ADD4 FUSE_ADD_RELU FUSE_ADD_SIGMOID
FUSE_ADD_TANH FAST_TANH FAST_TANH_GRAD ROUND RMULH ATAN2 ERF ERFINV ERFC ERFCINV H_SWISH
H_SWISH_GRAD FUSE_ADD_H_SWISH NOT AND OR XOR SILU SILU_GRAD GELU GELU_GRAD COND_LT_MOV NEQ
ISNAN ISINF SINH COSH ASINH ACOSH ATANH TAN ASINH_GRAD ACOSH_GRAD ATANH_GRAD PRELU CLIP
PRELU_GRAD SOFTPLUS SOFTPLUS_GRAD RELU6 RELU6_GRAD HSIGMOID HSIGMOID_GRAD LOGSIGMOID SQRT
SQUARE SIGN
"""

ELEMWISE_MODES: tuple[str, ...] = tuple(_MODES.split())
"""Names of the elementwise modes; a file stores the index."""


class OperatorType(Value):
    name: str
    dtypes: tuple[str, ...]


def _strip_version(name: str) -> str:
    return _VERSION.sub("", name)


def _read_name(text: str, dtypes: tuple[str, ...]) -> tuple[str, OperatorType]:
    registered, _, name = text.partition("=")
    plain = registered.removesuffix("+")
    name = name or _strip_version(plain) + ("Forward" if plain != registered else "")
    return plain, OperatorType(name=name, dtypes=dtypes)


REGISTERED: dict[str, OperatorType] = dict(
    _read_name(text, dtypes) for dtypes, names in _TABLE.items() for text in names.split()
)


def _hash(name: bytes) -> int:
    return xxhash.xxh64_intdigest(name, seed=_SEED)


_BY_NAME = {_strip_version(name): kind for name, kind in REGISTERED.items()}
# The oldest dumps leave out the terminating NUL, together with the version.
_BY_ID = {_hash(name.encode()): kind for name, kind in _BY_NAME.items()}
_BY_ID |= {
    _hash(f"{name}{version}\0".encode()): kind
    for name, kind in _BY_NAME.items()
    for version in _OLD_VERSIONS
}


def by_name(name: str) -> OperatorType | None:
    return _BY_NAME.get(_strip_version(name))


def by_id(type_id: int) -> OperatorType | None:
    return _BY_ID.get(type_id)
