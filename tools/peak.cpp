#include "peak.h"

#include <omp.h>

#include <algorithm>
#include <chrono>

#include "cnntrain/base/rng.h"

namespace cnntrain {

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

double measured_peak_gflops(DType type, int threads) {
    omp_set_num_threads(threads);
    const std::int64_t side = 2048;
    const auto kind = type == DType::f32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);
    const dnnl::memory::desc open({side, side}, kind, dnnl::memory::format_tag::any);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc desc(engine, open, open, open);
#else
    const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(open, open, open), engine);
#endif
    const dnnl::memory a(desc.src_desc(), engine);
    const dnnl::memory b(desc.weights_desc(), engine);
    const dnnl::memory c(desc.dst_desc(), engine);
    fill_with_numbers(a, type);
    fill_with_numbers(b, type);
    dnnl::matmul product(desc);
    double best = 0;
    for (int i = 0; i < 10; ++i) {
        const auto start = std::chrono::steady_clock::now();
        product.execute(stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
        stream.wait();
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        best = std::max(best, 2.0 * static_cast<double>(side * side * side) / seconds / 1e9);
    }
    return best;
}

}  // namespace cnntrain
