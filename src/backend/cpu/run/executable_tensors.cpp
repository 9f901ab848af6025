// Reads and writes variables, outputs and gradients of a compiled graph in their external form.
#include <algorithm>
#include <cstring>

#include "backend/cpu/isa.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/run/executable.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"

namespace cnntrain::cpu {

const CpuExecutable::Tensor& CpuExecutable::find(const std::vector<Tensor>& tensors, const std::string& name,
                                                 const std::string& kind) {
    const auto found =
        std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& candidate) { return candidate.name == name; });
    if (found != tensors.end()) return *found;
    std::vector<std::string> names;
    names.reserve(tensors.size());
    for (const Tensor& candidate : tensors)
        names.push_back(candidate.name);
    backend::refuse_name(kind, name, names);
}

void CpuExecutable::copy(const Desc& from_desc, const void* from, const Desc& to_desc, void* to) const {
    if (from_desc == to_desc) {
        std::memcpy(to, from, to_desc.get_size());
        return;
    }
    if (with_type(from_desc, DType::bf16) == from_desc) return copy_as_floats(from_desc, from, to_desc, to);
    reorder(from_desc, from, to_desc, to);
}

/// oneDNN reorders bfloat16 with AVX-512 only.
void CpuExecutable::copy_as_floats(const Desc& from_desc, const void* from, const Desc& to_desc, void* to) const {
    const std::optional<Desc> wide_from = with_type(from_desc, DType::f32);
    const std::optional<Desc> wide_to = with_type(to_desc, DType::f32);
    CNNTRAIN_CHECK(wide_from && wide_to, "a 16-bit tensor lies in an unnamed layout");
    std::vector<float> source(wide_from->get_size() / sizeof(float));
    std::vector<float> target(wide_to->get_size() / sizeof(float));
    cast(static_cast<std::int64_t>(source.size()), static_cast<const BFloat16*>(from), source.data());
    reorder(*wide_from, source.data(), *wide_to, target.data());
    cast(static_cast<std::int64_t>(target.size()), target.data(), static_cast<BFloat16*>(to));
}

void CpuExecutable::reorder(const Desc& from_desc, const void* from, const Desc& to_desc, void* to) const {
    dnnl::memory source(from_desc, onednn_.engine(), const_cast<void*>(from));
    dnnl::memory target(to_desc, onednn_.engine(), to);
    dnnl::stream stream = onednn_.stream();
    dnnl::reorder(onednn_.reorder_desc(from_desc, to_desc)).execute(stream, source, target);
    stream.wait();
}

void CpuExecutable::load(const backend::NamedTensors& tensors) {
    for (const auto& [name, tensor] : tensors)
        load_one(name, tensor);
}

void CpuExecutable::load_one(const std::string& name, const HostTensor& tensor) {
    const Tensor& target = find(variables_, name, "parameter or state");
    if (tensor.shape() != target.desc.shape) {
        throw Error(ErrorKind::data,
                    name + ": expected shape " + to_string(target.desc.shape) + ", got " + to_string(tensor.shape()));
    }
    const HostTensor converted = tensor.cast(target.desc.dtype);
    program_.weights_changed();
    if (!is_sharded(target)) {
        copy(target.row_major, converted.bytes().data(), target.placed.desc, target.placed.buffer->data);
        return;
    }
    std::vector<std::byte> whole(target.placed.desc.get_size());
    copy(target.row_major, converted.bytes().data(), target.placed.desc, whole.data());
    const std::span<const std::byte> own = piece_of(target, exchange_->communicator().rank(), whole);
    std::ranges::copy(own, target.placed.buffer->data);
}

std::span<std::byte> CpuExecutable::piece_of(const Tensor& tensor, int rank, std::span<std::byte> whole) const {
    const auto [begin, count] = exchange_->piece(static_cast<std::size_t>(tensor.placed.buffer->sharded_as), rank);
    const std::size_t element = size_bytes(tensor.placed.dtype);
    const std::size_t offset = std::min(static_cast<std::size_t>(begin) * element, whole.size());
    return whole.subspan(offset, std::min(static_cast<std::size_t>(count) * element, whole.size() - offset));
}

/// Gathers the pieces of all ranks. Collective.
std::vector<std::byte> CpuExecutable::gathered(const Tensor& tensor) const {
    comm::Communicator& all = exchange_->communicator();
    std::vector<std::byte> whole(tensor.placed.desc.get_size());
    for (int rank = 0; rank < all.size(); ++rank) {
        const std::span<std::byte> piece = piece_of(tensor, rank, whole);
        if (rank == all.rank()) std::ranges::copy_n(tensor.placed.as<std::byte>(), std::ssize(piece), piece.begin());
        if (!piece.empty()) all.broadcast(piece, rank, "state of the optimiser");
    }
    return whole;
}

HostTensor CpuExecutable::read(const Tensor& tensor) const {
    HostTensor result(tensor.desc);
    if (is_sharded(tensor)) {
        copy(tensor.placed.desc, gathered(tensor).data(), tensor.row_major, result.bytes().data());
    } else {
        copy(tensor.placed.desc, tensor.placed.as<std::byte>(), tensor.row_major, result.bytes().data());
    }
    return result;
}

backend::NamedTensors CpuExecutable::store(std::span<const std::string> names) const {
    backend::NamedTensors tensors;
    for (const std::string& name : names)
        tensors.emplace(name, read(find(variables_, name, "parameter or state")));
    return tensors;
}

void CpuExecutable::keep_outputs(std::int64_t part) {
    for (std::size_t i = 0; i < whole_outputs_.size(); ++i) {
        const Tensor& output = outputs_.front()[i];
        if (output.is_sum()) continue;
        const auto offset = static_cast<std::size_t>(part) * output.desc.bytes();
        copy(output.placed.desc, output.placed.as<std::byte>(), output.row_major,
             whole_outputs_[i].bytes().data() + offset);
    }
}

HostTensor CpuExecutable::read_output(const std::string& name) const {
    const std::vector<Tensor>& outputs = outputs_[static_cast<std::size_t>(last_pipeline_)];
    const Tensor& output = find(outputs, name, "output");
    if (whole_outputs_.empty() || output.is_sum()) return read(output);
    return whole_outputs_[static_cast<std::size_t>(&output - outputs.data())];
}

HostTensor CpuExecutable::read(backend::Result result, const std::string& name) const {
    if (result == backend::Result::output) return read_output(name);
    CNNTRAIN_CHECK(!exchange_ || !exchange_->shards(), "no rank has whole gradients where the optimiser is sharded");
    return read(find(gradients_, name, "gradient that an update reads"));
}

void CpuExecutable::set_profiling(bool enabled, Timeline* timeline) {
    if (timeline != nullptr) recorder_.record_on(*timeline);
    recorder_.set_on(enabled);
}

// The sums of a weight update that was stopped, and an update that continues with them.

namespace {

/// Gradients of different nodes may have one name.
std::string name_of(std::size_t number, const Buffer& accumulator) {
    return std::to_string(number) + "/" + accumulator.name;
}

}  // namespace

/// Layouts without a name depend on the library, the instruction set and the number of threads only.
std::string CpuExecutable::partial_form() const {
    Digest digest;
    digest.add(library_text());
    digest.add(static_cast<std::uint64_t>(threads_));
    digest.add(static_cast<std::uint64_t>(plan_.lanes));
    digest.add(static_cast<std::uint64_t>(plan_.micro_batches));
    for (const Tensor& output : outputs_.front()) {
        if (output.is_sum()) digest.add(output.name);
    }
    for (const auto& [accumulator, layout] : program_.accumulators()) {
        digest.add(accumulator->name);
        digest.add(accumulator->bytes);
        digest.add(layout);
    }
    return digest.text();
}

void CpuExecutable::load_sums(const backend::PartialUpdate& partial) {
    const auto& accumulators = program_.accumulators();
    CNNTRAIN_CHECK(partial.accumulators.size() == accumulators.size(), "a partial update of another form");
    for (std::size_t i = 0; i < accumulators.size(); ++i) {
        const Buffer& accumulator = *accumulators[i].first;
        const auto found = partial.accumulators.find(name_of(i, accumulator));
        CNNTRAIN_CHECK(found != partial.accumulators.end() && found->second.bytes().size() == accumulator.bytes,
                       "a partial update of another form: " + accumulator.name);
        std::memcpy(accumulator.data, found->second.bytes().data(), accumulator.bytes);
    }
    const std::vector<Tensor>& outputs = outputs_.front();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!outputs[i].is_sum()) continue;
        const auto found = partial.sums.find(outputs[i].name);
        CNNTRAIN_CHECK(found != partial.sums.end(), "a partial update without the sum of " + outputs[i].name);
        values_[i * contexts_.size()] = found->second;  // in the place of the first micro-batch
    }
}

void CpuExecutable::store_accumulators(backend::PartialUpdate& partial) const {
    const auto& accumulators = program_.accumulators();
    for (std::size_t i = 0; i < accumulators.size(); ++i) {
        const Buffer& accumulator = *accumulators[i].first;
        HostTensor tensor({DType::f32, {static_cast<std::int64_t>(accumulator.bytes / sizeof(float))}});
        std::memcpy(tensor.bytes().data(), accumulator.data, accumulator.bytes);
        partial.accumulators.emplace(name_of(i, accumulator), std::move(tensor));
    }
}

}  // namespace cnntrain::cpu
