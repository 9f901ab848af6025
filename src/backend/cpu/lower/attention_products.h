// The matrix products of attention, one head at a time, on the core that works on the head, and its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/lower/node_context.h"
#include "backend/cpu/onednn.h"

namespace cnntrain::cpu {

struct AttentionShape {
    std::int64_t samples = 0, tokens = 0, heads = 0, features = 0;  // features of one head
    std::int64_t queries = 0;                                       // of one tile
    DType type = DType::f32;

    std::int64_t tiles() const { return tokens / queries; }
    std::int64_t scores() const { return queries * tokens; }
};

/// A product that one thread runs on memory that is named each time. Each thread has its own arguments.
class HeadProduct {
public:
    /// `primitive` must have been made for one thread; `threads` run it side by side.
    HeadProduct(const OneDnn& onednn, const Primitive& primitive, int threads);

    std::size_t scratch_bytes() const { return scratch_bytes_; }
    /// c = a * b (or c += a * b), on memory laid out as the primitive's descriptors say. The status is for
    /// require_success(), which may throw.
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

/// Makes products for one thread, and counts what they need besides their operands. oneDNN's fast ones want matrices
/// without gaps: a head is copied out of the rows of its tokens, and its results back.
class ProductMaker {
public:
    explicit ProductMaker(const NodeContext& lower);

    /// a[queries,features] * b[tokens,features]^T -> f32[queries,tokens]
    HeadProduct of_features(const AttentionShape& shape);
    /// a[queries,tokens] * b[tokens,features] -> [queries,features]
    HeadProduct of_keys(const AttentionShape& shape);
    /// a[queries,tokens]^T * b[queries,features] -> [tokens,features] of this type
    HeadProduct of_queries(const AttentionShape& shape, DType result, bool accumulates);

    int threads() const { return threads_; }
    std::size_t scratch_bytes() const { return scratch_bytes_; }
    const std::string& implementation() const { return implementation_; }

private:
    HeadProduct make(const Desc& a, const Desc& b, const Desc& c, bool accumulates);

    const OneDnn& onednn_;
    int threads_;
    std::size_t scratch_bytes_ = 0;
    std::string implementation_;
};

/// A thread's room while it works on a head: arrays, each with place for so many floats, and what the products need.
class HeadMemory {
public:
    HeadMemory(float* memory, const std::vector<std::int64_t>& first) : memory_(memory), first_(&first) {}

    template <typename T> T* array(std::size_t index) const { return reinterpret_cast<T*>(memory_ + (*first_)[index]); }
    void* products() const { return array<float>(first_->size() - 1); }

private:
    float* memory_;
    const std::vector<std::int64_t>* first_;
};

/// The room of all threads. Must outlive its HeadMemory.
class HeadRoom {
public:
    HeadRoom(const NodeContext& lower, const ProductMaker& maker, const std::vector<std::int64_t>& arrays);

    HeadMemory of(int thread) const { return {scratch_().data() + thread * per_thread_, first_}; }

private:
    void add(std::int64_t floats);

    std::vector<std::int64_t> first_;
    std::int64_t per_thread_ = 0;
    std::function<std::span<float>()> scratch_;
};

}  // namespace cnntrain::cpu
