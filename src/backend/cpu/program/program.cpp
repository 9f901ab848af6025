#include "backend/cpu/program/program.h"

#include <dnnl.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "backend/cpu/kernels/parallel.h"
#include "backend/cpu/run/lanes.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {
namespace {

/// An operand that is a part of its buffer, or of which a step reads some rows, has a smaller descriptor.
double operand_bytes(const Placed& tensor) {
    const std::size_t described = tensor.desc.get_size();
    return static_cast<double>(described > 0 ? std::min(described, tensor.buffer->bytes) : tensor.buffer->bytes);
}

}  // namespace

std::vector<Placed> present(std::initializer_list<Placed> tensors) {
    std::vector<Placed> result;
    std::ranges::copy_if(tensors, std::back_inserter(result), [](const Placed& tensor) { return bool(tensor); });
    return result;
}

double Step::bytes_moved() const {
    double bytes = 0;
    for (const Placed& tensor : reads)
        bytes += operand_bytes(tensor);
    for (const Placed& tensor : writes)
        bytes += operand_bytes(tensor);
    return bytes;
}

Program::Program(const OneDnn& onednn, const schedule::Placement& plan, std::vector<std::int32_t> lane_of)
    : onednn_(onednn), plan_(plan), lane_of_(std::move(lane_of)), scratch_(static_cast<std::size_t>(plan.lanes)) {
    CNNTRAIN_CHECK(std::ssize(lane_of_) == std::int64_t{plan.pipelines} * plan.stages, "each site needs a lane");
    order_.push_back(Section::prepare());
    for (std::int32_t pipeline = 0; pipeline < plan.pipelines; ++pipeline) {
        for (std::int32_t stage = 0; stage < plan.stages; ++stage)
            order_.push_back(Section::forward(stage, pipeline));
        for (std::int32_t stage = plan.stages - 1; stage >= 0; --stage)
            order_.push_back(Section::backward(stage, pipeline));
    }
    order_.push_back(Section::update());
    steps_.resize(order_.size());
    waits_.resize(order_.size());
    moving_.resize(lane_of_.size());
}

std::span<const Section> Program::forward_sections(std::int32_t pipeline) const {
    return sections().subspan(position(Section::forward(0, pipeline)), static_cast<std::size_t>(plan_.stages));
}

std::span<const Section> Program::backward_sections(std::int32_t pipeline) const {
    return sections().subspan(position(Section::backward(plan_.stages - 1, pipeline)),
                              static_cast<std::size_t>(plan_.stages));
}

std::span<const Section> Program::micro_batch_sections(std::int32_t pipeline) const {
    return sections().subspan(position(Section::forward(0, pipeline)),
                              static_cast<std::size_t>(plan_.pipeline().slots()));
}

std::size_t Program::position(Section section) const {
    if (section == Section::prepare()) return 0;
    if (section == Section::update()) return order_.size() - 1;
    CNNTRAIN_CHECK(section.stage < plan_.stages && section.pipeline < plan_.pipelines,
                   "the program has no stage " + std::to_string(section.stage));
    const bool backward = section.kind == Section::Kind::backward;
    const std::int32_t slots = plan_.pipeline().slots();
    return static_cast<std::size_t>(1 + section.pipeline * slots +
                                    schedule::slot_of(plan_.pipeline(), section.stage, backward));
}

Site Program::site(Section section) const {
    return section.has_site() ? section.pipeline * plan_.stages + section.stage : kNoSite;
}

std::int32_t Program::lane(Section section) const {
    return section.has_site() ? lane_of_[static_cast<std::size_t>(site(section))] : 0;
}

Buffer* Program::add_buffer(std::string name, std::size_t bytes, Storage storage, Section section) {
    buffers_.push_back(Buffer{std::move(name), bytes, storage, storage == Storage::arena ? site(section) : kNoSite});
    return &buffers_.back();
}

Buffer* Program::add_scalar(const std::string& name) {
    buffers_.push_back(Buffer{name, sizeof(float), Storage::scalar});
    buffers_.back().data = reinterpret_cast<std::byte*>(&scalars_->at(backend::scalar_position(name)));
    return &buffers_.back();
}

void Program::set_scalars(const backend::ScalarValues& values) {
    std::ranges::transform(values, scalars_->begin(), [](double value) { return static_cast<float>(value); });
}

Buffer* Program::seen_from(Section section, Buffer* buffer) {
    Buffer& origin = buffer->origin();
    const Site here = site(section);
    const bool same_everywhere = origin.storage == Storage::persistent || origin.storage == Storage::scalar;
    if (same_everywhere || here == kNoSite || here == buffer->site) return buffer;
    if (here == origin.site) return &origin;
    Buffer*& view = views_[{&origin, here}];
    if (view == nullptr) {
        buffers_.push_back(Buffer{origin.name, origin.bytes, origin.storage, here});
        view = &buffers_.back();
        view->root = &origin;
    }
    return view;
}

void Program::add_step(Section section, Step step) {
    steps_[position(section)].push_back(std::move(step));
}

Program::Call Program::bind_call(Section section, const Primitive& primitive, const Arguments& arguments,
                                 std::size_t scratch_offset) {
    Call call;
    const auto bind_argument = [&](int argument, const Desc& desc, Buffer* buffer, std::size_t offset) {
        bindings_.push_back(
            Binding{dnnl::memory(desc, onednn_.engine(), DNNL_MEMORY_NONE), buffer, scratch_of(section), offset});
        call.push_back(dnnl_exec_arg_t{argument, bindings_.back().memory.get()});
    };
    for (const auto& [argument, tensor] : arguments)
        bind_argument(argument, tensor.desc, tensor.buffer, tensor.offset);
    if (const std::size_t bytes = primitive.scratchpad.get_size(); bytes > 0) {
        reserve_scratch(section, scratch_offset + bytes);
        bind_argument(DNNL_ARG_SCRATCHPAD, primitive.scratchpad, nullptr, scratch_offset);  // null: the scratch memory
    }
    return call;
}

namespace {

/// The step of a primitive without its function.
Step primitive_step(Step like, const Primitive& primitive, const Arguments& arguments,
                    const std::vector<int>& written) {
    like.implementation = primitive.implementation;
    for (const auto& [argument, tensor] : arguments) {
        const bool is_written = std::find(written.begin(), written.end(), argument) != written.end();
        (is_written ? like.writes : like.reads).push_back(tensor);
    }
    return like;
}

dnnl_status_t execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
                      const std::vector<dnnl_exec_arg_t>& call) {
    return dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(call.size()), call.data());
}

}  // namespace

namespace {

/// A primitive that also runs where there are fewer threads than it was planned for: planned again for them, or else
/// with all of its threads.
class ThreadedPrimitive {
public:
    explicit ThreadedPrimitive(Primitive primitive) : primitive_(std::move(primitive)) {}

    dnnl_status_t execute(const dnnl::stream& stream, const std::vector<dnnl_exec_arg_t>& call) {
        const int threads = omp_get_max_threads();
        if (threads == primitive_.threads) return cpu::execute(primitive_.primitive, stream, call);
        if (!others_.contains(threads)) {
            if (others_.size() >= kMostPlans) others_.clear();
            others_.emplace(threads, planned_again());
        }
        const dnnl::primitive& other = others_.at(threads);
        if (other) return cpu::execute(other, stream, call);
        const Threads all(primitive_.threads);
        return cpu::execute(primitive_.primitive, stream, call);
    }

private:
    static constexpr std::size_t kMostPlans = 2;

    /// Empty if there is none that takes the same arguments.
    dnnl::primitive planned_again() const {
        if (!primitive_.again) return {};
        try {
            const Primitive other = primitive_.again();
            const bool fits = other.implementation == primitive_.implementation && other.src == primitive_.src &&
                              other.weights == primitive_.weights && other.dst == primitive_.dst &&
                              other.workspace == primitive_.workspace &&
                              other.scratchpad.get_size() <= primitive_.scratchpad.get_size();
            return fits ? other.primitive : dnnl::primitive();
        } catch (const dnnl::error&) {
            return {};
        } catch (const Error&) {  // no memory for its code
            return {};
        }
    }

    Primitive primitive_;
    std::map<int, dnnl::primitive> others_;  // by their threads
};

}  // namespace

void Program::add_primitive(Section section, Step like, const Primitive& primitive, const Arguments& arguments,
                            const std::vector<int>& written) {
    Step step = primitive_step(std::move(like), primitive, arguments, written);
    step.run = [run = bound_call(section, primitive, arguments)](const StepContext&) { run(); };
    add_step(section, std::move(step));
}

std::function<void()> Program::bound_call(Section section, const Primitive& primitive, const Arguments& arguments) {
    return [threaded = std::make_shared<ThreadedPrimitive>(primitive), stream = onednn_.stream(),
            call = bind_call(section, primitive, arguments, 0)] { require_success(threaded->execute(stream, call)); };
}

void Program::add_parts(Section section, Step like, const Primitive& primitive, const std::vector<Arguments>& parts,
                        const std::vector<int>& written) {
    Step step = primitive_step(std::move(like), primitive, parts.at(0), written);
    std::vector<Call> calls;
    for (const Arguments& arguments : parts) {
        const std::size_t scratch = round_up(primitive.scratchpad.get_size(), kCacheLineBytes);
        calls.push_back(bind_call(section, primitive, arguments, calls.size() * scratch));
    }
    step.run = [handle = primitive.primitive, stream = onednn_.stream(), calls = std::move(calls)](const StepContext&) {
        std::atomic<dnnl_status_t> failure = dnnl_success;
        parallel_tasks(static_cast<std::int64_t>(calls.size()), [&](std::int64_t part) {
            const Threads one(1);  // a single part runs outside parallel regions
            const dnnl_status_t status = execute(handle, stream, calls[static_cast<std::size_t>(part)]);
            if (status != dnnl_success) failure = status;
        });
        require_success(failure);
    };
    add_step(section, std::move(step));
}

void Program::reserve_scratch(Section section, std::size_t bytes) {
    std::size_t& reserved = scratch_[scratch_of(section)].bytes;
    reserved = std::max(reserved, bytes);
}

void Program::bind(Buffer* buffer, std::int32_t pipeline, std::int64_t number, std::byte* data) {
    buffer->places[static_cast<std::size_t>(pipeline * batches_in_flight_ + number % batches_in_flight_)] = data;
}

void Program::move_to(Buffer& buffer, std::byte* data, std::span<Binding* const> bindings) {
    if (buffer.data == data) return;
    buffer.data = data;
    for (Binding* binding : bindings)
        binding->memory.set_data_handle(data + binding->offset);
}

void Program::turn_to(Section section, std::int64_t number) {
    for (const auto& [buffer, bindings] : moving_[static_cast<std::size_t>(site(section))]) {
        const Buffer& origin = buffer->origin();
        const bool external = origin.storage == Storage::external;
        const auto places = external ? batches_in_flight_ : std::ssize(origin.places);
        const std::int64_t place = number % places + (external ? section.pipeline * batches_in_flight_ : 0);
        move_to(*buffer, origin.places[static_cast<std::size_t>(place)], bindings);
    }
}

}  // namespace cnntrain::cpu
