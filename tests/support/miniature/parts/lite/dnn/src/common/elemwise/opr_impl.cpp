// From here on elementwise modes are regions of a trace: kernels/elemwise marks them.
#include "base/regions.h"

MIDOUT_DECL(megdnn_common_elemwise_mode)
