#include "backend/cpu/program.h"

#include <dnnl.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <set>

#include "backend/cpu/kernels/parallel.h"
#include "backend/cpu/memory_plan.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/size_text.h"

namespace cnntrain::cpu {

namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
constexpr std::size_t kCacheLineBytes = 64;
/// What oneDNN, logs and the writing of files still take while the program runs.
constexpr std::size_t kLibraryBytes = std::size_t{16} << 20;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

}  // namespace

double Step::bytes_moved() const {
    double bytes = 0;
    for (const Placed& tensor : reads)
        bytes += static_cast<double>(tensor.buffer->bytes);
    for (const Placed& tensor : writes)
        bytes += static_cast<double>(tensor.buffer->bytes);
    return bytes;
}

PageMemory::PageMemory(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    const std::size_t mapped = round_up(bytes, kHugePageBytes);
    void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw Error(ErrorKind::unsupported,
                    "cpu backend: this run needs " + size_text(bytes) +
                        " more memory than the machine gives; use a smaller --micro-batch-size");
    }
    madvise(memory, mapped, MADV_HUGEPAGE);
    memory_ = {static_cast<std::byte*>(memory), Unmap{mapped}};
}

void Unmap::operator()(std::byte* memory) const {
    munmap(memory, bytes);
}

Program::Program(const OneDnn& onednn, std::int32_t stages)
    : onednn_(onednn), stages_(static_cast<std::size_t>(stages)), steps_(2 * stages_ + 2) {
    order_.push_back(Section::prepare());
    for (std::int32_t stage = 0; stage < stages; ++stage)
        order_.push_back(Section::forward(stage));
    for (std::int32_t stage = stages - 1; stage >= 0; --stage)
        order_.push_back(Section::backward(stage));
    order_.push_back(Section::update());
}

std::size_t Program::position(Section section) const {
    const auto found = std::find(order_.begin(), order_.end(), section);
    CNNTRAIN_CHECK(found != order_.end(), "the program has no stage " + std::to_string(section.stage));
    return static_cast<std::size_t>(found - order_.begin());
}

std::vector<std::uint64_t> Program::stash_bytes() const {
    std::vector<std::uint64_t> bytes(stages_);
    for (const Section section : backward_sections()) {
        std::set<const Buffer*> stashed;
        for (const Step& step : steps(section)) {
            for (const Placed& tensor : step.reads) {
                const Buffer& buffer = *tensor.buffer;
                const bool given = buffer.storage == Storage::external ||
                                   (buffer.storage == Storage::arena && buffer.first_step < first_backward_step_);
                if (given) stashed.insert(&buffer);
            }
        }
        for (const Buffer* buffer : stashed)
            bytes[static_cast<std::size_t>(section.stage)] += buffer->bytes;
    }
    return bytes;
}

Buffer* Program::add_buffer(std::string name, std::size_t bytes, Storage storage) {
    buffers_.push_back(Buffer{std::move(name), bytes, storage, nullptr, -1, -1, nullptr});
    return &buffers_.back();
}

void Program::add_step(Section section, Step step) {
    steps_[position(section)].push_back(std::move(step));
}

Program::Call Program::bind_call(const Primitive& primitive, const Arguments& arguments, std::size_t scratch_offset) {
    Call call;
    const auto bind_argument = [&](int argument, const Desc& desc, Buffer* buffer, std::size_t offset) {
        bindings_.push_back(Binding{dnnl::memory(desc, onednn_.engine(), DNNL_MEMORY_NONE), buffer, offset});
        call.push_back(dnnl_exec_arg_t{argument, bindings_.back().memory.get()});
    };
    for (const auto& [argument, tensor] : arguments)
        bind_argument(argument, tensor.desc, tensor.buffer, tensor.offset);
    if (const std::size_t bytes = primitive.scratchpad.get_size(); bytes > 0) {
        reserve_scratch(scratch_offset + bytes);
        bind_argument(DNNL_ARG_SCRATCHPAD, primitive.scratchpad, nullptr, scratch_offset);  // null: the scratch memory
    }
    return call;
}

namespace {

/// A primitive's step without what it runs.
Step primitive_step(std::string name, std::string op, const Primitive& primitive, const Arguments& arguments,
                    const std::vector<int>& written, double flops) {
    Step step{std::move(name), std::move(op), primitive.implementation, flops, {}, {}, {}};
    for (const auto& [argument, tensor] : arguments) {
        const bool is_written = std::find(written.begin(), written.end(), argument) != written.end();
        (is_written ? step.writes : step.reads).push_back(tensor);
    }
    return step;
}

dnnl_status_t execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
                      const std::vector<dnnl_exec_arg_t>& call) {
    return dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(call.size()), call.data());
}

void check(dnnl_status_t status) {
    if (status == dnnl_success) return;
    if (status == dnnl_out_of_memory) throw std::bad_alloc();
    throw Error(ErrorKind::internal,
                "cpu backend: a oneDNN primitive failed with status " + std::to_string(static_cast<int>(status)));
}

}  // namespace

void Program::add_primitive(Section section, std::string name, std::string op, const Primitive& primitive,
                            const Arguments& arguments, const std::vector<int>& written, double flops) {
    Step step = primitive_step(std::move(name), std::move(op), primitive, arguments, written, flops);
    step.run = [handle = primitive.primitive, stream = onednn_.stream(), call = bind_call(primitive, arguments, 0)](
                   const StepContext&) { check(execute(handle, stream, call)); };
    add_step(section, std::move(step));
}

void Program::add_parts(Section section, std::string name, std::string op, const Primitive& primitive,
                        const std::vector<Arguments>& parts, const std::vector<int>& written, double flops) {
    Step step = primitive_step(std::move(name), std::move(op), primitive, parts.at(0), written, flops);
    std::vector<Call> calls;
    for (const Arguments& arguments : parts) {
        const std::size_t scratch = round_up(primitive.scratchpad.get_size(), kCacheLineBytes);
        calls.push_back(bind_call(primitive, arguments, calls.size() * scratch));
    }
    step.run = [handle = primitive.primitive, stream = onednn_.stream(), calls = std::move(calls)](const StepContext&) {
        std::atomic<dnnl_status_t> failure = dnnl_success;
        parallel_tasks(static_cast<std::int64_t>(calls.size()), [&](std::int64_t part) {
            const dnnl_status_t status = execute(handle, stream, calls[static_cast<std::size_t>(part)]);
            if (status != dnnl_success) failure = status;
        });
        check(failure);
    };
    add_step(section, std::move(step));
}

void Program::reserve_scratch(std::size_t bytes) {
    scratch_bytes_ = std::max(scratch_bytes_, bytes);
}

void Program::finish() {
    set_live_ranges();
    place_arena();
    place_persistent();
    scratch_ = PageMemory(scratch_bytes_);
    for (Binding& binding : bindings_) {
        std::byte* const start = binding.buffer == nullptr ? scratch_.data() : binding.buffer->data;
        binding.memory.set_data_handle(start + binding.offset);
    }
}

void Program::set_live_ranges() {
    int step_position = 0;
    for (const Section section : sections().subspan(1)) {
        if (section == backward_sections().front()) first_backward_step_ = step_position;
        for (const Step& step : steps(section)) {
            for (const auto* tensors : {&step.reads, &step.writes}) {
                for (const Placed& tensor : *tensors) {
                    Buffer& buffer = *tensor.buffer;
                    if (buffer.first_step < 0) buffer.first_step = step_position;
                    buffer.last_step = step_position;
                }
            }
            ++step_position;
        }
    }
    for (Buffer* buffer : kept_)
        buffer->last_step = step_position;
}

void Program::place_arena() {
    std::vector<Buffer*> in_arena;
    std::vector<LiveRange> ranges;
    for (Buffer& buffer : buffers_) {
        if (buffer.storage != Storage::arena || buffer.first_step < 0) continue;
        in_arena.push_back(&buffer);
        ranges.push_back(LiveRange{buffer.bytes, buffer.first_step, buffer.last_step});
    }
    const MemoryPlan plan = plan_memory(ranges);
    // Variables are copied when a checkpoint is read or written.
    require_memory(plan.total_bytes + 2 * persistent_total() + scratch_bytes_ + kLibraryBytes, "cpu backend: this run");
    arena_ = PageMemory(plan.total_bytes);
    for (std::size_t i = 0; i < in_arena.size(); ++i)
        in_arena[i]->data = arena_.data() + plan.offsets[i];
}

std::size_t Program::persistent_total() const {
    std::size_t total = 0;
    for (const Buffer& buffer : buffers_) {
        if (buffer.storage == Storage::persistent && buffer.same_as == nullptr)
            total += round_up(buffer.bytes, kCacheLineBytes);
    }
    return total;
}

void Program::place_persistent() {
    persistent_ = PageMemory(persistent_total());
    std::size_t offset = 0;
    for (Buffer& buffer : buffers_) {
        if (buffer.storage != Storage::persistent || buffer.same_as != nullptr) continue;
        buffer.data = persistent_.data() + offset;
        offset += round_up(buffer.bytes, kCacheLineBytes);
    }
    for (Buffer& buffer : buffers_) {
        if (buffer.same_as != nullptr) buffer.data = buffer.same_as->data;
    }
}

void Program::bind(Buffer* buffer, std::byte* data) {
    if (buffer->data == data) return;
    buffer->data = data;
    for (Binding& binding : bindings_) {
        if (binding.buffer == buffer) binding.memory.set_data_handle(data + binding.offset);
    }
}

}  // namespace cnntrain::cpu
