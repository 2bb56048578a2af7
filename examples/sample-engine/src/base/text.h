// Text made by a printf format.
#pragma once

#include <string>

namespace sample {

// At most 255 characters; the rest is cut off.
std::string text(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace sample
