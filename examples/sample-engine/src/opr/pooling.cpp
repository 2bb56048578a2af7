// Pooling: Float32, or QuantizedS8 with equal scales. Parameters: window h, window w, stride h,
// stride w, padding h, padding w.
#include "graph/operator.h"
#include "kernels/pooling/pooling.h"

namespace mgb {
namespace opr {

using sample::BlockedPlan;
using sample::DType;
using sample::PoolMode;

class Pooling final : public sample::Operator {
public:
    using Operator::Operator;

    void check() override {
        check_counts(1, 1, 6);
        const sample::Shape& image = input(0).shape;
        check_that(image.ndim == 4, "dimensions");
        int room[2];
        for (int i = 0; i < 2; ++i) {
            check_parameter(i, 1, 1 << 16);
            check_parameter(2 + i, 1, 1 << 16);
            check_parameter(4 + i, 0, parameter(i) - 1);
            room[i] = image[2 + i] + 2 * parameter(4 + i) - parameter(i);
            check_that(room[i] >= 0, "window");
        }
        const DType type = input(0).dtype;
        check_that(type != DType::QuantizedS32, "data type");
        check_that(type == DType::Float32 || input(0).scale == output().scale, "scale");
        check_output(
                type, {4, {image[0], image[1], room[0] / parameter(2) + 1,
                           room[1] / parameter(3) + 1}});
        m_mode = parse_mode();
    }

    void execute(sample::Context& context) override {
        if (output().nchw44)
            sample::pool_nchw44(problem<float>(context, 4));
        else if (input(0).dtype == DType::Float32)
            sample::pool_plain(problem<float>(context, 1));
        else
            sample::pool_plain(problem<int8_t>(context, 1));
    }

    BlockedPlan blocked_plan() const override {
        return input(0).nchw44 ? BlockedPlan::AsIs : BlockedPlan::Plain;
    }

private:
    PoolMode parse_mode() const {
        const std::string& mode = record().mode;
        if (mode == "MAX")
            return PoolMode::Max;
        if (mode == "AVERAGE")
            return PoolMode::Average;
        check_that(mode == "AVERAGE_COUNT_EXCLUDE_PADDING", "mode");
        return PoolMode::AverageInside;
    }

    template <class T>
    sample::PoolProblem<T> problem(sample::Context& context, int block) const {
        const sample::Shape &in = input(0).shape, &out = output().shape;
        return {m_mode,       in[0] * in[1] / block, in[2],        in[3],
                out[2],       out[3],                parameter(0), parameter(1),
                parameter(2), parameter(3),          parameter(4), parameter(5),
                input(0).as<T>(), output().as<T>(), &context.pool};
    }

    PoolMode m_mode = PoolMode::Max;
};

}  // namespace opr
}  // namespace mgb

SAMPLE_REGISTER_OPERATOR(Pooling)
