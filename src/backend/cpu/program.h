// What a compiled graph runs: buffers with fixed addresses and steps that read and write them, in sections.
//
//   prepare      copies of parameters in the layouts and types that the other steps read; after a load and after an update
//   forward(s)   stage s of the forward pass of one micro-batch
//   backward(s)  stage s of its backward pass, forward values that are computed again included
//   update       once per weight update
//
// Memory is planned for one micro-batch at a time: forward sections in the order of their stages, backward sections in
// the reverse order, then the update.
//
// Lowering fills a Program; finish() plans the memory, after which nothing is allocated any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/onednn.h"

namespace cnntrain::cpu {

enum class Storage : std::uint8_t {
    arena,       // lives from its first to its last use within one weight update
    persistent,  // lives as long as the program
    external,    // memory of the current input batch, bound before each micro-batch
};

struct Buffer {
    std::string name;
    std::size_t bytes = 0;
    Storage storage = Storage::arena;
    std::byte* data = nullptr;
    int first_step = -1;  // positions in the order of execution
    int last_step = -1;
    Buffer* same_as = nullptr;  // set: no memory of its own
};

/// A tensor in memory. Copies refer to the same buffer, views to a part of it.
struct Placed {
    Buffer* buffer = nullptr;
    Desc desc;
    DType dtype = DType::f32;
    std::size_t offset = 0;  // bytes from the beginning of the buffer

    explicit operator bool() const { return buffer != nullptr; }
    template <typename T> T* as() const { return reinterpret_cast<T*>(buffer->data + offset); }
};

/// What changes from one execution to the next.
struct StepContext {
    std::int64_t micro_batch = 0;   // within the weight update
    std::int64_t first_sample = 0;  // of the micro-batch, in the stream of all ranks
    float learning_rate = 0;
    std::int64_t iteration = 0;
};

struct Step {
    std::string name;
    std::string op;
    std::string implementation;
    double flops = 0;
    std::vector<Placed> reads;
    std::vector<Placed> writes;
    std::function<void(const StepContext&)> run;

    double bytes_moved() const;
};

/// A list of steps that runs as one piece.
struct Section {
    enum class Kind : std::uint8_t { prepare, forward, backward, update };
    Kind kind = Kind::prepare;
    std::int32_t stage = 0;  // of forward and backward sections

    static constexpr Section prepare() { return {Kind::prepare, 0}; }
    static constexpr Section forward(std::int32_t stage) { return {Kind::forward, stage}; }
    static constexpr Section backward(std::int32_t stage) { return {Kind::backward, stage}; }
    static constexpr Section update() { return {Kind::update, 0}; }
    bool operator==(const Section&) const = default;
};

struct Unmap {
    std::size_t bytes = 0;
    void operator()(std::byte* memory) const;
};

/// Page-aligned memory, in huge pages where the system has them, zeroed.
class PageMemory {
public:
    PageMemory() = default;
    explicit PageMemory(std::size_t bytes);
    std::byte* data() const { return memory_.get(); }
    std::size_t bytes() const { return bytes_; }

private:
    std::unique_ptr<std::byte, Unmap> memory_;
    std::size_t bytes_ = 0;
};

/// What a oneDNN primitive works on: DNNL_ARG_... and the tensor.
using Arguments = std::vector<std::pair<int, Placed>>;

class Program {
public:
    Program(const OneDnn& onednn, std::int32_t stages);

    /// In the order of execution; the first one is prepare, the last one update.
    std::span<const Section> sections() const { return order_; }
    std::span<const Section> forward_sections() const { return sections().subspan(1, stages_); }
    std::span<const Section> backward_sections() const { return sections().subspan(1 + stages_, stages_); }
    /// Index in sections().
    std::size_t position(Section section) const;

    Buffer* add_buffer(std::string name, std::size_t bytes, Storage storage);
    void add_step(Section section, Step step);
    /// A step that runs one oneDNN primitive on these arguments (DNNL_ARG_... -> tensor).
    void add_primitive(Section section, std::string name, std::string op, const Primitive& primitive,
                       const Arguments& arguments, const std::vector<int>& written, double flops);
    /// A step that runs a primitive of one thread on several lists of arguments side by side.
    void add_parts(Section section, std::string name, std::string op, const Primitive& primitive,
                   const std::vector<Arguments>& parts, const std::vector<int>& written, double flops);
    /// Memory that any step may use while it runs; valid after finish().
    void reserve_scratch(std::size_t bytes);
    std::byte* scratch() const { return scratch_.data(); }
    /// Keeps an arena buffer alive to the end of the update.
    void keep_to_end(Buffer* buffer) { kept_.push_back(buffer); }

    /// Plans memory, fixes addresses. Nothing can be added afterwards.
    void finish();
    /// Gives an external buffer its address for the coming micro-batch.
    void bind(Buffer* buffer, std::byte* data);

    const std::vector<Step>& steps(Section section) const { return steps_[position(section)]; }
    /// By stage: bytes of inputs and of what forward sections write that the stage's backward section reads. Valid after
    /// finish().
    std::vector<std::uint64_t> stash_bytes() const;
    std::size_t arena_bytes() const { return arena_.bytes(); }
    std::size_t persistent_bytes() const { return persistent_.bytes() + scratch_.bytes(); }

private:
    struct Binding {
        dnnl::memory memory;
        Buffer* buffer;
        std::size_t offset;
    };
    using Call = std::vector<dnnl_exec_arg_t>;
    /// Arguments as oneDNN takes them; `scratch_offset`: of the call's scratchpad in the shared scratch memory.
    Call bind_call(const Primitive& primitive, const Arguments& arguments, std::size_t scratch_offset);
    void set_live_ranges();
    void place_arena();
    void place_persistent();
    std::size_t persistent_total() const;

    const OneDnn& onednn_;
    std::size_t stages_;
    std::vector<Section> order_;
    std::vector<std::vector<Step>> steps_;  // by position
    std::deque<Buffer> buffers_;
    int first_backward_step_ = 0;
    std::deque<Binding> bindings_;
    std::vector<Buffer*> kept_;
    std::size_t scratch_bytes_ = 0;
    PageMemory arena_;
    PageMemory persistent_;
    PageMemory scratch_;
};

}  // namespace cnntrain::cpu
