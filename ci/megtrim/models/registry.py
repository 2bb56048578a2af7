"""Operator types of the engine: their names in model files, and the names of their classes.

A dump stores the name under which an operator was registered (``PoolingV1``), or a hash of it; the
operator JSON and the header use the class (``PoolingForward``). The names below are facts read from
MegEngine, commit 47952c075d868665e1116214bea760d786144081. Data only: no file of the engine is
needed to read a model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import xxhash

_SEED = 20160701
_OLD_VERSIONS = ("", *(f"V{number}" for number in range(10)))
_VERSION = re.compile(r"V\d$", re.ASCII)

# Each line: registered name, class, data types of its outputs that do not depend on its inputs
# (Byte is scratch memory). Other versions of a registered name have the same class.
_TABLE = """
AdaptivePoolingBackwardV1 AdaptivePoolingBackward Byte
AdaptivePoolingV1 AdaptivePoolingForward Byte
AddUpdate AddUpdate
AffineInt AffineInt
Alloc Alloc
Argmax Argmax Byte Int32
Argmin Argmin Byte Int32
Argsort ArgsortForward Byte Int32
ArgsortBackward ArgsortBackward Byte
AssertEqual AssertEqual
AtlasRuntimeOpr AtlasRuntimeOpr
AxisAddRemove AxisAddRemove
BatchConvBiasForward BatchConvBiasForward Byte
BatchConvBiasForwardV1 BatchConvBiasForward Byte
BatchNormBackwardV1 BatchNormBackward Byte
BatchNormV1 BatchNormForward Byte
BatchedIncrMeshIndexing BatchedIncrMeshIndexing Byte
BatchedMatrixMulV2 BatchedMatrixMul Byte
BatchedMeshIndexing BatchedMeshIndexing Byte
BatchedSetMeshIndexing BatchedSetMeshIndexing Byte
BetaRNG BetaRNG Byte
Broadcast Broadcast
CambriconRuntimeOpr CambriconRuntimeOpr
CheckNonFinite CheckNonFinite Byte Int32
Concat Concat
CondExecMark CondExecMark
CondExecMarkIfNeed CondExecMarkIfNeed
CondExecMerge CondExecMerge
CondExecPred CondExecPred
CondExecPredLogical CondExecPredLogical
CondTake CondTake Byte Int32
ConvBiasForward ConvBiasForward Byte
ConvBiasForwardV4 ConvBiasForward Byte
Convolution ConvolutionForward Byte
Convolution3D Convolution3DForward Byte
Convolution3DBackwardData Convolution3DBackwardData Byte
Convolution3DBackwardFilter Convolution3DBackwardFilter Byte
ConvolutionBackwardData ConvolutionBackwardData Byte
ConvolutionBackwardDataV2 ConvolutionBackwardData Byte
ConvolutionBackwardFilter ConvolutionBackwardFilter Byte
ConvolutionBackwardFilterV2 ConvolutionBackwardFilter Byte
ConvolutionV2 ConvolutionForward Byte
Copy Copy
CorrelationBackwardData1 CorrelationBackwardData1 Byte
CorrelationBackwardData2 CorrelationBackwardData2 Byte
CorrelationForward CorrelationForward Byte
Cross Cross Byte
CumsumV1 Cumsum Byte
CvtColor CvtColorForward Byte
DctChannelSelectV1 DctChannelSelectForward Byte
DeformableConvBackwardData DeformableConvBackwardData Byte
DeformableConvBackwardDataV1 DeformableConvBackwardData Byte
DeformableConvBackwardFilter DeformableConvBackwardFilter Byte
DeformableConvBackwardFilterV1 DeformableConvBackwardFilter Byte
DeformableConvForward DeformableConvForward Byte
DeformableConvForwardV1 DeformableConvForward Byte
DeformablePSROIPoolingBackward DeformablePSROIPoolingBackward Byte
DeformablePSROIPoolingForward DeformablePSROIPoolingForward Byte
Diag Diag Byte
DiagBackward DiagBackward
Dimshuffle Dimshuffle
Dot Dot Byte
Dropout DropoutForward Byte
DropoutBackward DropoutBackward Byte
Elemwise Elemwise
ElemwiseMultiType ElemwiseMultiType
ExponentialRNG ExponentialRNG Byte
ExternCOprRunner ExternCOprRunner
Eye Eye
FakeQuant FakeQuantForward Byte
FakeQuantBackward FakeQuantBackward Byte
Flip FlipForward Byte
GammaRNG GammaRNG Byte
GaussianBlur GaussianBlurForward Byte
GaussianRNGV1 GaussianRNG Byte
GeneralNorm GeneralNormForward Byte
GeneralNormBackward GeneralNormBackward Byte
GetVarShapeV1 GetVarShape Int32
GroupLocalBackwardDataV2 GroupLocalBackwardData Byte
GroupLocalBackwardFilterV2 GroupLocalBackwardFilter Byte
GroupLocalV2 GroupLocalForward Byte
GroupNorm GroupNormForward Byte
GroupNormBackward GroupNormBackward Byte
Host2DeviceCopy Host2DeviceCopy
Identity Identity
Images2Neibs Images2NeibsForward Byte
Images2NeibsBackward Images2NeibsBackward Byte
ImmutableTensor ImmutableTensor
IncrMeshIndexing IncrMeshIndexing Byte
IncrSubtensor IncrSubtensor
IndexingIncrMultiAxisVec IndexingIncrMultiAxisVec Byte
IndexingMultiAxisVec IndexingMultiAxisVec Byte
IndexingOneHot IndexingOneHot Byte
IndexingRemap IndexingRemap Byte
IndexingRemapBackward IndexingRemapBackward Byte
IndexingSetMultiAxisVec IndexingSetMultiAxisVec Byte
IndexingSetOneHot IndexingSetOneHot Byte
InstanceNorm InstanceNormForward Byte
InstanceNormBackward InstanceNormBackward Byte
LRN LRNForward Byte
LRNBackward LRNBackward Byte
LSQ LSQForward Byte
LSQBackward LSQBackward Byte
LSTMBackward LSTMBackward Byte
LSTMCellForward LSTMCellForward Byte
LSTMForward LSTMForward Byte
LayerNorm LayerNormForward Byte
LayerNormBackward LayerNormBackward Byte
Linspace Linspace
LocalBackwardDataV2 LocalBackwardData Byte
LocalBackwardFilterV2 LocalBackwardFilter Byte
LocalShareBackwardData LocalShareBackwardData Byte
LocalShareBackwardDataV1 LocalShareBackwardData Byte
LocalShareBackwardFilter LocalShareBackwardFilter Byte
LocalShareBackwardFilterV1 LocalShareBackwardFilter Byte
LocalShareForward LocalShareForward Byte
LocalShareForwardV1 LocalShareForward Byte
LocalV2 LocalForward Byte
MagicMindRuntimeOpr MagicMindRuntimeOpr Byte
MarkDynamicVar MarkDynamicVar
MarkNoBroadcastElemwise MarkNoBroadcastElemwise
MaskConvolutionV2 MaskConvolution Byte
MaskPropagate MaskPropagate Byte
MaskedFill MaskedFill Byte
MatrixInverse MatrixInverse Byte
MatrixMulV2 MatrixMul Byte
MeshIndexing MeshIndexing Byte
MultiHeadAttn MultiHeadAttnForward Byte
MultiHeadAttnBackward MultiHeadAttnBackward Byte
MultinomialRNG MultinomialRNG Byte
MultipleDeviceTensorHolder MultipleDeviceTensorHolder
MultipleDeviceTensorWithFormatHolder MultipleDeviceTensorWithFormatHolder
NMSKeepMGB NMSKeep Byte Int32
NonZero NonZero Byte Int32
NvOf NvOf
Padding PaddingForward Byte
PaddingBackward PaddingBackward Byte
PermutationRNG PermutationRNG Byte
PersistentOutputStorage PersistentOutputStorage
PoissonRNG PoissonRNG Byte
PoolingBackwardV1 PoolingBackward Byte
PoolingV1 PoolingForward Byte
PowC PowC Byte
RNNBackward RNNBackward Byte
RNNCellForward RNNCellForward Byte
RNNForward RNNForward Byte
ROIAlignBackwardV1 ROIAlignBackward Byte
ROIAlignV1 ROIAlignForward Byte Int32
ROIPooling ROIPoolingForward Byte Int32
ROIPoolingBackward ROIPoolingBackward Byte
ReduceV2 Reduce Byte
RegionRestrictedConvolution RegionRestrictedConvolutionForward Byte
RegionRestrictedConvolutionBackwardData RegionRestrictedConvolutionBackwardData Byte
RegionRestrictedConvolutionBackwardFilter RegionRestrictedConvolutionBackwardFilter Byte
RelayoutFormatV1 RelayoutFormat Byte
RemapBackwardDataV1 RemapBackwardData Byte
RemapBackwardMatV1 RemapBackwardMat Byte
RemapV1 RemapForward Byte
ReshapeV1 Reshape
Resize3D Resize3DForward Byte
ResizeBackward ResizeBackward Byte
ResizeV2 ResizeForward Byte
Rotate RotateForward Byte
SVD SVD Byte
SetMeshIndexing SetMeshIndexing Byte
SetSubtensor SetSubtensor
SharedDeviceTensor SharedDeviceTensor
SharedDeviceTensorWithFormat SharedDeviceTensorWithFormat
ShuffleRNG ShuffleRNGForward Byte
ShuffleRNGBackward ShuffleRNGBackward Byte
Sleep Sleep
SlidingWindowTranspose SlidingWindowTransposeForward Byte
SlidingWindowTransposeBackward SlidingWindowTransposeBackward Byte
Softmax SoftmaxForward Byte
SoftmaxBackward SoftmaxBackward Byte
Split Split
Subtensor Subtensor
TQT TQTForward Byte
TQTBackward TQTBackward Byte
TensorRTRuntimeOpr TensorRTRuntimeOpr Byte
TopK TopK Byte Int32
TypeCvtV2 TypeCvt
UniformRNGV1 UniformRNG Byte
VirtualDep VirtualDep
VirtualGrad VirtualGrad
VolatileSharedDeviceTensor VolatileSharedDeviceTensor
WarpAffineV2 WarpAffineForward Byte
WarpPerspectiveBackwardDataV2 WarpPerspectiveBackwardData Byte
WarpPerspectiveBackwardMatV2 WarpPerspectiveBackwardMat Byte
WarpPerspectiveV2 WarpPerspectiveForward Byte
Where WhereForward Byte
WhereBackward WhereBackward Byte
opr::Loop Loop
"""

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


@dataclass(frozen=True, slots=True)
class OperatorType:
    name: str
    dtypes: tuple[str, ...]
    """Data types that it always uses, whatever its inputs are."""


def _read_table() -> dict[str, OperatorType]:
    types: dict[str, OperatorType] = {}
    for line in _TABLE.split("\n"):
        if line:
            registered, name, *dtypes = line.split(" ")
            types[registered] = OperatorType(name, tuple(dtypes))
    return types


REGISTERED: dict[str, OperatorType] = _read_table()


def _strip_version(name: str) -> str:
    return _VERSION.sub("", name)


def _hash(name: bytes) -> int:
    return xxhash.xxh64_intdigest(name, seed=_SEED)


_BY_NAME = {_strip_version(name): kind for name, kind in REGISTERED.items()}
_BY_ID = {
    # The oldest dumps leave out the terminating NUL, together with the version.
    **{_hash(name.encode()): kind for name, kind in _BY_NAME.items()},
    **{
        _hash(f"{name}{version}\0".encode()): kind
        for name, kind in _BY_NAME.items()
        for version in _OLD_VERSIONS
    },
}


def by_name(name: str) -> OperatorType | None:
    return _BY_NAME.get(_strip_version(name))


def by_id(type_id: int) -> OperatorType | None:
    """Return the class of an operator by the 64-bit hash of its registered name."""
    return _BY_ID.get(type_id)
