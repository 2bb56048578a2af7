// Everything that a file with regions needs.
#pragma once

#include <cstdint>

#include "base/hash.h"

// Classes that stand in the name of a region. A generated header may name them as soon as
// midout.h is read, so they are declared before it.
namespace sample {
class ConvForward;
class ConvInt8Forward;
class MatmulForward;
class MatmulInt8Forward;
}  // namespace sample

#include "midout.h"
