#include "backend/cpu/lower/attention_products.h"

#include <dnnl.h>
#include <omp.h>

#include <algorithm>

#include "backend/cpu/run/lanes.h"

namespace cnntrain::cpu {

namespace {}  // namespace

HeadProduct::HeadProduct(const OneDnn& onednn, const Primitive& primitive, int threads)
    : primitive_(primitive.primitive), stream_(onednn.stream()), scratch_bytes_(primitive.scratchpad.get_size()) {
    for (int thread = 0; thread < threads; ++thread) {
        const auto memory = [&](const Desc& desc) { return dnnl::memory(desc, onednn.engine(), DNNL_MEMORY_NONE); };
        Arguments& own = arguments_.emplace_back();
        own.a = memory(primitive.src);
        own.b = memory(primitive.weights);
        own.c = memory(primitive.dst);
        own.list = {{DNNL_ARG_SRC, own.a.get()}, {DNNL_ARG_WEIGHTS, own.b.get()}, {DNNL_ARG_DST, own.c.get()}};
        if (scratch_bytes_ == 0) continue;
        own.scratch = memory(primitive.scratchpad);
        own.list.push_back({DNNL_ARG_SCRATCHPAD, own.scratch.get()});
    }
}

dnnl_status_t HeadProduct::run(int thread, const void* a, const void* b, void* c, void* scratch) const {
    const Arguments& own = arguments_[static_cast<std::size_t>(thread)];
    // oneDNN writes to its result and its scratch memory alone.
    own.a.set_data_handle(const_cast<void*>(a));
    own.b.set_data_handle(const_cast<void*>(b));
    own.c.set_data_handle(c);
    if (scratch_bytes_ > 0) own.scratch.set_data_handle(scratch);
    return dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(own.list.size()), own.list.data());
}

ProductMaker::ProductMaker(const NodeContext& lower) : onednn_(lower.onednn), threads_(omp_get_max_threads()) {}

HeadProduct ProductMaker::of_features(const AttentionShape& shape) {
    return make(matrix_desc(shape.queries, shape.features, shape.type),
                matrix_desc(shape.features, shape.tokens, shape.type, true),
                matrix_desc(shape.queries, shape.tokens, DType::f32), false);
}

HeadProduct ProductMaker::of_keys(const AttentionShape& shape) {
    return make(matrix_desc(shape.queries, shape.tokens, shape.type),
                matrix_desc(shape.tokens, shape.features, shape.type),
                matrix_desc(shape.queries, shape.features, shape.type), false);
}

HeadProduct ProductMaker::of_queries(const AttentionShape& shape, DType result, bool accumulates) {
    return make(matrix_desc(shape.tokens, shape.queries, shape.type, true),
                matrix_desc(shape.queries, shape.features, shape.type),
                matrix_desc(shape.tokens, shape.features, result), accumulates);
}

HeadProduct ProductMaker::make(const Desc& a, const Desc& b, const Desc& c, bool accumulates) {
    const Threads one(1);
    const Primitive primitive = accumulates ? onednn_.accumulating_matmul(a, b, c) : onednn_.matmul(a, b, c, false);
    implementation_ = primitive.implementation;
    scratch_bytes_ = std::max(scratch_bytes_, primitive.scratchpad.get_size());
    return {onednn_, primitive, threads_};
}

HeadRoom::HeadRoom(const NodeContext& lower, const ProductMaker& maker, const std::vector<std::int64_t>& arrays) {
    for (const std::int64_t floats : arrays)
        add(floats);
    add(static_cast<std::int64_t>(maker.scratch_bytes() / sizeof(float)) + 1);
    scratch_ = lower.steps.scratch_floats(per_thread_ * maker.threads());
}

void HeadRoom::add(std::int64_t floats) {
    constexpr std::int64_t kLine = 16;        // floats of a cache line
    constexpr std::int64_t kGap = 4 * kLine;  // arrays that lie whole pages apart hinder each other's loads
    first_.push_back(per_thread_);
    per_thread_ += (floats + kLine - 1) / kLine * kLine + kGap;
}

}  // namespace cnntrain::cpu
