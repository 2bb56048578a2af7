// Written by megtrim. Part of DeferredCode.kt: compile it into the native library of your app, which
// links @LIBRARY@, and load that library before you call DeferredCode.
#include <jni.h>
#include <stddef.h>

// The trimmed library has it. It copies what it takes, and does not close the file.
extern __attribute__((weak)) int megtrim_rest(const char* path, int file, long offset);

JNIEXPORT jboolean JNICALL Java_megtrim_trimmed_DeferredCode_take(
    JNIEnv* env, jobject self, jint file, jlong offset) {
    (void)env;
    (void)self;
    return megtrim_rest != NULL && megtrim_rest(NULL, file, (long)offset) == 0;
}
