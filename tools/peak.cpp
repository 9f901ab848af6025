#include "peak.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <dnnl.hpp>

namespace cnntrain {

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
    std::fill_n(static_cast<std::byte*>(a.get_data_handle()), desc.src_desc().get_size(), std::byte{0});
    std::fill_n(static_cast<std::byte*>(b.get_data_handle()), desc.weights_desc().get_size(), std::byte{0});
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
