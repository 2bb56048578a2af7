// An operator of a graph, and the table by which a model's operators find their code.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/bin_reduce.h"
#include "base/error.h"
#include "base/tensor.h"
#include "base/threads.h"
#include "graph/algo_chooser.h"
#include "graph/model.h"

namespace sample {

// What operators work with.
struct Context {
    ThreadPool& pool;
    AlgoChooser& chooser;
    bool preprocess_weights;
};

// What an operator does when the graph goes over to the blocked layout.
enum class BlockedPlan {
    Plain,       // wants plain inputs, gives a plain output
    AsIs,        // takes its inputs as they lie, gives a blocked output
    BlockFirst,  // wants its first input blocked, gives a blocked output
};

class Operator {
public:
    Operator(OperatorRecord record, std::vector<Tensor*> inputs, Tensor* output)
            : m_record(std::move(record)), m_inputs(std::move(inputs)), m_output(output) {}
    virtual ~Operator() = default;

    // Refuses a record that makes no sense: after this, kernels need no checks.
    virtual void check() = 0;
    virtual void execute(Context&) = 0;
    virtual BlockedPlan blocked_plan() const { return BlockedPlan::Plain; }

    // To be called before every execution; inputs and output have memory by then.
    void plan_once(Context& context) {
        if (!m_planned)
            plan(context);
        m_planned = true;
    }

    const OperatorRecord& record() const { return m_record; }
    const std::vector<Tensor*>& inputs() const { return m_inputs; }
    Tensor& output() const { return *m_output; }
    void replace_input(size_t index, Tensor* tensor) { m_inputs[index] = tensor; }

protected:
    // Decides what can be decided once for all executions. Inputs need not hold values yet.
    virtual void plan(Context&) {}

    const Tensor& input(size_t index) const { return *m_inputs[index]; }
    int parameter(size_t index) const { return m_record.parameters[index]; }

    void check_counts(size_t least_inputs, size_t most_inputs, size_t parameters) const {
        const bool right = m_inputs.size() >= least_inputs && m_inputs.size() <= most_inputs &&
                           m_record.parameters.size() == parameters;
        check_that(right, "number of inputs or parameters");
    }
    void check_output(DType dtype, const Shape& shape) const {
        check_that(m_output->dtype == dtype && m_output->shape == shape, "output's shape or type");
    }
    void check_parameter(size_t index, int least, int most) const {
        check_that(parameter(index) >= least && parameter(index) <= most, "parameter");
    }
    void check_that(bool right, const char* what) const {
        SAMPLE_CHECK(
                right, "%s %s: wrong %s", m_record.type.c_str(), m_record.name.c_str(), what);
    }

private:
    OperatorRecord m_record;
    std::vector<Tensor*> m_inputs;
    Tensor* m_output;
    bool m_planned = false;
};

using OperatorMaker =
        std::unique_ptr<Operator> (*)(OperatorRecord, std::vector<Tensor*>, Tensor*);

void register_operator(const char* type, OperatorMaker maker);
// Null for a type that is unknown, or dropped by the generated header.
OperatorMaker find_operator(const std::string& type);

}  // namespace sample

// Registers class NAME of mgb::opr under its own name, unless the generated header drops it: then
// nothing refers to the class any more and the linker drops its code.
#define SAMPLE_REGISTER_OPERATOR(NAME)                                                         \
    namespace {                                                                                \
    struct NAME##Entry {                                                                       \
        static std::unique_ptr<sample::Operator> make(                                         \
                sample::OperatorRecord record, std::vector<sample::Tensor*> inputs,            \
                sample::Tensor* output) {                                                      \
            return std::make_unique<mgb::opr::NAME>(                                           \
                    std::move(record), std::move(inputs), output);                             \
        }                                                                                      \
        static void entry() { sample::register_operator(#NAME, make); }                        \
    };                                                                                         \
    [[maybe_unused]] mgb::serialization::OprRegistryCaller<mgb::opr::NAME, NAME##Entry>        \
            g_##NAME##_caller;                                                                 \
    }
