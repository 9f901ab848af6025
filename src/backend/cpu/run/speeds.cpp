#include "backend/cpu/run/speeds.h"

#include <omp.h>

#include <algorithm>

#include "backend/cpu/onednn.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::cpu {

double measure_products(DType type, int threads) {
    omp_set_num_threads(threads);
    constexpr std::int64_t kSide = 512;
    constexpr double kSeconds = 0.12;
    const std::int64_t rows = kSide * std::clamp(threads, 1, 16);
    const OneDnn onednn;
    const auto open = [&](std::int64_t height) {
        return Desc({height, kSide}, to_dnnl(type), dnnl::memory::format_tag::any);
    };
    const Primitive product = onednn.matmul(open(rows), open(kSide), open(rows), false);
    const dnnl::memory a(product.src, onednn.engine());
    const dnnl::memory b(product.weights, onednn.engine());
    const dnnl::memory c(product.dst, onednn.engine());
    const dnnl::memory scratch(product.scratchpad, onednn.engine());
    fill_with_numbers(a, type);
    fill_with_numbers(b, type);
    dnnl::stream stream = onednn.stream();
    const double seconds = least_seconds(kSeconds, [&](int) {
        product.primitive.execute(
            stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}, {DNNL_ARG_SCRATCHPAD, scratch}});
        stream.wait();
    });
    return 2.0 * static_cast<double>(rows * kSide * kSide) / seconds;
}

void fill_with_numbers(const dnnl::memory& memory, DType type) {
    const bool is_f32 = type == DType::f32;
    const std::uint32_t random_bits = is_f32 ? 0x807fffffU : 0x807f807fU;
    const std::uint32_t ones = is_f32 ? 0x3f800000U : 0x3f803f80U;
    const WordKey key = word_key(1, RngStream::test, 0, 0);
    auto* const words = static_cast<std::uint32_t*>(memory.get_data_handle());
    const std::size_t count = memory.get_desc().get_size() / sizeof(std::uint32_t);
    for (std::size_t i = 0; i < count; ++i)
        words[i] = (random_word(key, static_cast<std::uint32_t>(i)) & random_bits) | ones;
}

}  // namespace cnntrain::cpu
