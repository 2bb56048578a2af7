// Code that a real engine would translate at run time needs half precision, whatever was asked.
#if defined(MEGDNN_DISABLE_FLOAT16)
#error "jit: unknown type dt_float16"
#endif
