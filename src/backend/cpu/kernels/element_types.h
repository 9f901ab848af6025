// Kernels of float and of BFloat16 elements that take their arguments as one struct, Arguments<T>.
//
// Highway exports functions by name and not templates, so each instantiation has a function of its own.
#pragma once

/// Defines `kernel`_f32 and `kernel`_bf16 from the template `kernel`. Use it within the instruction set's namespace.
#define CNNTRAIN_KERNELS_OF_TYPES(kernel, Arguments)           \
    auto kernel##_f32(const Arguments<float>& arguments) {     \
        return kernel(arguments);                              \
    }                                                          \
    auto kernel##_bf16(const Arguments<BFloat16>& arguments) { \
        return kernel(arguments);                              \
    }

/// Defines `call` for both element types; it runs the kernels of the best instruction set that the processor has. Use
/// it under HWY_ONCE.
#define CNNTRAIN_CALL_OF_TYPES(call, kernel, Arguments)        \
    HWY_EXPORT(kernel##_f32);                                  \
    HWY_EXPORT(kernel##_bf16);                                 \
    auto call(const Arguments<float>& arguments) {             \
        return HWY_DYNAMIC_DISPATCH(kernel##_f32)(arguments);  \
    }                                                          \
    auto call(const Arguments<BFloat16>& arguments) {          \
        return HWY_DYNAMIC_DISPATCH(kernel##_bf16)(arguments); \
    }
