// Writing what a graph computed, and telling what it is.
#pragma once

#include <string>

#include "graph/graph.h"

namespace sample {

// One file per output, FOLDER/run<run>-var<id>: a header of u32 (length of the text, data type, 7,
// dimensions filled up to 7), a text about the tensor, and its bytes.
void dump_outputs(const Graph& graph, const std::string& folder, int run);

// To the log.
void tell_model(const Graph& graph);

}  // namespace sample
