#include "engine.h"

MIDOUT_DECL(shared)
MIDOUT_DECL(typed)
MIDOUT_DECL(dependent)

using FloatKernel = engine::Kernel<float, 2>;
using Seventh = engine::ByKind<engine::Kind::seventh>;

// What only a dropped region uses is dropped with it.
inline void deep_inside() {
    engine::say("ran shared-2");
}

void shared_in_source() {
    MIDOUT_BEGIN(shared, midout_iv(2)) {
        deep_inside();
    }
    MIDOUT_END();
}

void typed_conv() {
    MIDOUT_BEGIN(typed, engine::Conv, midout_iv(3)) {
        engine::say("ran typed-conv");
    }
    MIDOUT_END();
}

void typed_inner_conv() {
    MIDOUT_BEGIN(typed, engine::inner::Conv, midout_iv(3)) {
        engine::say("ran typed-inner-conv");
    }
    MIDOUT_END();
}

void typed_incomplete() {
    MIDOUT_BEGIN(typed, engine::Pool) {
        engine::say("ran typed-incomplete");
    }
    MIDOUT_END();
}

void typed_kernel() {
    MIDOUT_BEGIN(typed, FloatKernel) {
        engine::say("ran typed-kernel");
    }
    MIDOUT_END();
}

void typed_by_kind() {
    MIDOUT_BEGIN(typed, Seventh, midout_iv(engine::Kind::seventh)) {
        engine::say("ran typed-by-kind");
    }
    MIDOUT_END();
}

template <class T, int number>
struct Dependent {
    static void run(const char* what) {
        MIDOUT_BEGIN(dependent, T, midout_iv(number)) {
            engine::say(what);
        }
        MIDOUT_END();
    }
};

void dependent_float() {
    Dependent<float, 0>::run("ran dependent-float");
}

void dependent_float_1() {
    Dependent<float, 1>::run("ran dependent-float-1");
}

void dependent_byte() {
    Dependent<unsigned char, 0>::run("ran dependent-byte");
}

void dependent_signed_byte() {
    Dependent<signed char, 0>::run("ran dependent-signed-byte");
}

void dependent_conv() {
    Dependent<engine::Conv, -1>::run("ran dependent-conv");
}
