// Filling a graph's inputs from the command line.
#pragma once

#include <string>

#include "graph/graph.h"

namespace sample {

// `description` is NAME:DATA[;NAME:DATA]. DATA is the name of a .npy file, numbers as
// [[1,2],[3,4]], or a shape {1,2}: then every byte becomes 1. Without a NAME the input is called
// "data". An input that is not named stays zero.
void feed_inputs(const std::string& description, const Graph& graph);

// Copies the values of a .npy file into a tensor of the same type and shape.
void read_npy(const std::string& path, Tensor& tensor);

}  // namespace sample
