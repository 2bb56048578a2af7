#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct codec codec;
typedef struct { long first, second; } pair;
typedef int (*codec_call)(void* with, codec* of, int number);
/* Name, what an error returns, arguments. All but the first row work without what was left out. */
#define CODEC_WORKS(X) \
    X(codec_open, codec*, (void)) \
    X(codec_close, void, (codec*)) \
    X(codec_works, int, (codec*, int)) \
    X(codec_asks, int, (codec*, codec_call, void*, int)) \
    X(codec_sums, int, (codec*, int, ...)) \
    X(codec_pair, pair, (codec*, int)) \
    X(codec_half, double, (codec*, double)) \
    X(codec_version, int, (void))
#define CODEC_FAILS(X) \
    X(codec_first, int, (codec*, int)) \
    X(codec_middle, int, (codec*, int)) \
    X(codec_local, int, (codec*, int)) \
    X(codec_deep, int, (codec*, int)) \
    X(codec_locked, int, (codec*, int)) \
    X(codec_twice_locked, int, (codec*, int)) \
    X(codec_many_locked, int, (codec*, int)) \
    X(codec_static, int, (codec*, int)) \
    X(codec_throws, int, (codec*, int)) \
    X(codec_sorts, int, (codec*, int)) \
    X(codec_calls, int, (codec*, codec_call, void*, int)) \
    X(codec_many, int, (codec*, int, int, int, int, int, int, int, int, int)) \
    X(codec_numbers, int, (codec*, double, double, float)) \
    X(codec_wide, int, (codec*, int)) \
    X(codec_large, int, (codec*, int)) \
    X(codec_rounds, int, (codec*, int)) \
    X(codec_joins, int, (int, codec*, codec*)) \
    X(codec_refuses, int, (codec*, int, const char*)) \
    X(codec_made, codec*, (int))
#define CODEC_ALL(X) CODEC_WORKS(X) CODEC_FAILS(X)
#define CODEC_DECLARE(name, result, arguments) result name arguments;
CODEC_ALL(CODEC_DECLARE)
enum { CODEC_ERROR = -7 };
#ifdef __cplusplus
}
#endif
