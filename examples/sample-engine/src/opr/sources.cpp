// The operators that nothing computes: what the caller gives, and what the model holds.
#include <cstring>

#include "graph/operator.h"

namespace mgb {
namespace opr {

class Input final : public sample::Operator {
public:
    using Operator::Operator;

    void check() override {
        check_counts(0, 0, 0);
        output().persistent = true;
        output().allocate();
    }

    void execute(sample::Context&) override {}
};

class Weight final : public sample::Operator {
public:
    using Operator::Operator;

    void check() override {
        check_counts(0, 0, 0);
        check_that(record().weights.size() == output().bytes(), "number of bytes");
        output().persistent = true;
        output().allocate();
        std::memcpy(output().as<char>(), record().weights.data(), record().weights.size());
    }

    void execute(sample::Context&) override {}
};

}  // namespace opr
}  // namespace mgb

SAMPLE_REGISTER_OPERATOR(Input)
SAMPLE_REGISTER_OPERATOR(Weight)
