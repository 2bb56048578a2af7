#include <map>

#include "graph/operator.h"

namespace sample {
namespace {

// Made when first asked for: operators register themselves before main(), in any order.
std::map<std::string, OperatorMaker>& makers() {
    static std::map<std::string, OperatorMaker> makers;
    return makers;
}

}  // namespace

void register_operator(const char* type, OperatorMaker maker) {
    makers()[type] = maker;
}

OperatorMaker find_operator(const std::string& type) {
    const auto found = makers().find(type);
    return found == makers().end() ? nullptr : found->second;
}

}  // namespace sample
