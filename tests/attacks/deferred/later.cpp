// A library that a program loads, drops, and loads again; later_answer is deferred.
extern "C" __attribute__((noinline, visibility("hidden"))) int later_answer(int number) {
    return number * 6;
}

extern "C" int answer(int number) {
    return number > 1 ? later_answer(number) : number;
}
