// The operators, data types and elementwise modes of a graph as JSON: what the engine's Python
// package writes beside a dump (`get_info_for_strip` of imperative/python/src/graph_rt.cpp). Only
// an engine with type information knows the operators' names: its profile build does.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>

#include "megbrain/graph/cg.h"
#include "megbrain/opr/basic_arith.h"
#include "megbrain/serialization/serializer.h"

// Quoted, and in order.
inline std::string list_names(const std::set<std::string>& names) {
    std::string list;
    for (const std::string& name : names)
        list += (list.empty() ? "\"" : ", \"") + name + '"';
    return '[' + list + ']';
}

inline bool write_operators(
        const std::string& path, mgb::SymbolVar output, std::uint64_t hash) {
    std::set<std::string> operators, types, modes;
    mgb::cg::DepOprIter each{[&](mgb::cg::OperatorNodeBase* op) {
        if (mgb::serialization::GraphDumper::should_remove_in_dump(op))
            return;
        operators.insert(op->dyn_typeinfo()->name);
        for (mgb::VarNode* var : op->output())
            types.insert(var->dtype().name());
        if (op->same_type<mgb::opr::Elemwise>()) {
            const auto mode = op->cast_final<mgb::opr::Elemwise>().param().mode;
            modes.insert(megdnn::Elemwise::ModeTrait::from_mode(mode).name);
        }
    }};
    each.add(output.node()->owner_opr());
    if (operators.count("") != 0) {
        std::fputs("this engine has no names of operators, so there is no JSON\n", stderr);
        return true;
    }
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr)
        return false;
    const int written = std::fprintf(
            file,
            "{\"hash\": %" PRIu64 ", \"dtypes\": %s, \"opr_types\": %s, \"elemwise_modes\": %s}",
            hash, list_names(types).c_str(), list_names(operators).c_str(),
            list_names(modes).c_str());
    return std::fclose(file) == 0 && written > 0;
}
