#include <cstdio>
#include <cstring>

#include "engine.h"

MIDOUT_DECL(bare)
MIDOUT_DECL(lonely)
MIDOUT_DECL(eight)
MIDOUT_DECL(named)

void engine::say(const char* what) {
    std::puts(what);
    std::fflush(stdout);
}

static void bare() {
    MIDOUT_BEGIN(bare) {
        engine::say("ran bare");
    }
    MIDOUT_END();
}

static void lonely() {
    MIDOUT_BEGIN(lonely) {
        engine::say("ran lonely");
    }
    MIDOUT_END();
}

static void eight() {
    MIDOUT_BEGIN(
            eight, midout_iv(1), midout_iv(2), midout_iv(3), midout_iv(4), midout_iv(5),
            midout_iv(6), midout_iv(7), midout_iv(8)) {
        engine::say("ran eight");
    }
    MIDOUT_END();
}

static void eight_other() {
    MIDOUT_BEGIN(
            eight, midout_iv(1), midout_iv(2), midout_iv(3), midout_iv(4), midout_iv(5),
            midout_iv(6), midout_iv(7), midout_iv(9)) {
        engine::say("ran eight-other");
    }
    MIDOUT_END();
}

static void named_sgemv() {
    MIDOUT_BEGIN(named, midout_iv(engine::named("sgemv"))) {
        engine::say("ran named-sgemv");
    }
    MIDOUT_END();
}

static void named_sgemm() {
    MIDOUT_BEGIN(named, midout_iv(engine::named("sgemm"))) {
        engine::say("ran named-sgemm");
    }
    MIDOUT_END();
}

void shared_in_source();
void typed_conv();
void typed_inner_conv();
void typed_incomplete();
void typed_kernel();
void typed_by_kind();
void dependent_float();
void dependent_float_1();
void dependent_byte();
void dependent_signed_byte();
void dependent_conv();

static const struct {
    const char* name;
    void (*call)();
} cases[] = {
        {"shared-1", shared_in_header},
        {"shared-2", shared_in_source},
        {"typed-conv", typed_conv},
        {"typed-inner-conv", typed_inner_conv},
        {"typed-incomplete", typed_incomplete},
        {"typed-kernel", typed_kernel},
        {"typed-by-kind", typed_by_kind},
        {"dependent-float", dependent_float},
        {"dependent-float-1", dependent_float_1},
        {"dependent-byte", dependent_byte},
        {"dependent-signed-byte", dependent_signed_byte},
        {"dependent-conv", dependent_conv},
        {"bare", bare},
        {"lonely", lonely},
        {"eight", eight},
        {"eight-other", eight_other},
        {"named-sgemv", named_sgemv},
        {"named-sgemm", named_sgemm},
};

int main(int count, char** arguments) {
    for (const auto& each : cases) {
        if (count == 2 && !std::strcmp(arguments[1], each.name)) {
            each.call();
            return 0;
        }
    }
    return 2;
}
