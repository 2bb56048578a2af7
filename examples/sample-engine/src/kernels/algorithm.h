// One way to do an operator's work. Which one is taken is decided in graph/algo_chooser.h.
#pragma once

#include <vector>

namespace sample {

template <class Problem>
struct Algorithm {
    const char* name;
    // Slow ones are tried by --full-run only.
    bool slow;
    // Can it do this problem at all?
    bool (*usable)(const Problem&);
    // Is it a good first guess for this problem, without measuring?
    bool (*attractive)(const Problem&);
    void (*run)(const Problem&);
    // Work on the weights alone that may be done once and given back as Problem::prepared; or null.
    std::vector<float> (*prepare)(const Problem&);
};

// In order of preference: the first that is usable and attractive is the default.
template <class Problem>
using Algorithms = std::vector<Algorithm<Problem>>;

template <class Problem>
bool always(const Problem&) {
    return true;
}

}  // namespace sample
