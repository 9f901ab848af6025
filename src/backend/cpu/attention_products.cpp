#include "backend/cpu/attention_products.h"

#include <dnnl.h>

namespace cnntrain::cpu {

TileProduct::TileProduct(const OneDnn& onednn, const Primitive& primitive, int threads)
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

dnnl_status_t TileProduct::run(int thread, const void* a, const void* b, void* c, void* scratch) const {
    const Arguments& own = arguments_[static_cast<std::size_t>(thread)];
    // oneDNN writes to its result and its scratch memory alone.
    own.a.set_data_handle(const_cast<void*>(a));
    own.b.set_data_handle(const_cast<void*>(b));
    own.c.set_data_handle(c);
    if (scratch_bytes_ > 0) own.scratch.set_data_handle(scratch);
    return dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(own.list.size()), own.list.data());
}

}  // namespace cnntrain::cpu
