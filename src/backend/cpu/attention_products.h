// The matrix products of attention, one head at a time, on the core that works on the head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "backend/cpu/onednn.h"

namespace cnntrain::cpu {

/// A product that one thread runs on memory that is named each time. Each thread has its own arguments.
class TileProduct {
public:
    /// `primitive` must have been made for one thread; `threads` run it side by side.
    TileProduct(const OneDnn& onednn, const Primitive& primitive, int threads);

    std::size_t scratch_bytes() const { return scratch_bytes_; }
    /// c = a * b (or c += a * b). The memory lies as the primitive's descriptors say. For require_success(), where it may throw.
    dnnl_status_t run(int thread, const void* a, const void* b, void* c, void* scratch) const;

private:
    struct Arguments {
        dnnl::memory a, b, c, scratch;
        std::vector<dnnl_exec_arg_t> list;
    };

    dnnl::primitive primitive_;
    dnnl::stream stream_;
    std::size_t scratch_bytes_;
    std::deque<Arguments> arguments_;  // by thread
};

}  // namespace cnntrain::cpu
