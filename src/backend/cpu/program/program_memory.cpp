// Placement of a program's buffers in memory.
#include "backend/cpu/program/program.h"

#include <sys/mman.h>
#include <algorithm>
#include <numeric>
#include <set>

#include "cnntrain/base/error.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/text.h"

namespace cnntrain::cpu {
namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
/// Memory reserved for oneDNN, logs and file writing while the program runs.
constexpr std::size_t kLibraryBytes = std::size_t{16} << 20;

}  // namespace

PageMemory::PageMemory(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    const std::size_t mapped = round_up(bytes, kHugePageBytes);
    void* const begin =
        mmap(nullptr, mapped + kHugePageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) {
        throw Error(ErrorKind::unsupported,
                    "cpu backend: this run needs " + size_text(bytes) +
                        " more memory than the machine gives; use a smaller --micro-batch-size");
    }
    // Huge pages lie at their multiples only. Memory before the first and after the last one goes back.
    const std::size_t before =
        round_up(reinterpret_cast<std::uintptr_t>(begin), kHugePageBytes) - reinterpret_cast<std::uintptr_t>(begin);
    std::byte* const memory = static_cast<std::byte*>(begin) + before;
    if (before > 0) munmap(begin, before);
    if (before < kHugePageBytes) munmap(memory + mapped, kHugePageBytes - before);
    madvise(memory, mapped, MADV_HUGEPAGE);
    memory_ = {memory, Unmap{mapped}};
}

void Unmap::operator()(std::byte* memory) const {
    munmap(memory, bytes);
}

void Program::finish(Copies copies, const Program* owner) {
    count_memory();
    if (owner != nullptr && owner->persistent_tensors() == persistent_tensors()) {
        weights_ = owner->weights_;
        persistent_bytes_ -= persistent_total();
    }
    require_enough_memory(copies);
    const std::vector<Arena> arenas = plan_arenas();
    place_rings();
    place_arenas(arenas);
    place_persistent();
    for (Scratch& scratch : scratch_)
        scratch.memory = PageMemory(scratch.bytes);
    place_views();
}

void Program::count_memory() {
    set_live_ranges();
    set_waits();
    arena_bytes_ = ring_total();
    for (const Arena& arena : plan_arenas())
        arena_bytes_ += arena.plan.total_bytes;
    persistent_bytes_ = persistent_total();
    for (const Scratch& scratch : scratch_)
        persistent_bytes_ += scratch.bytes;
}

void Program::touch(Buffer& buffer, int section, int step) {
    if (buffer.first_step < 0) {
        buffer.first_step = step;
        buffer.first_section = section;
    }
    buffer.last_step = step;
    buffer.last_section = section;
}

void Program::set_live_ranges() {
    int step_position = 0;
    for (std::size_t i = 1; i < order_.size(); ++i) {
        for (const Step& step : steps_[i]) {
            for (const auto* tensors : {&step.reads, &step.writes}) {
                for (const Placed& tensor : *tensors)
                    touch(tensor.buffer->origin(), static_cast<int>(i), step_position);
            }
            ++step_position;
        }
    }
    for (Buffer& buffer : buffers_) {
        if (buffer.kept && buffer.first_step >= 0) buffer.last_step = step_position;
    }
}

bool Program::one_at_a_time() const {
    return plan_.stages == 1 || plan_.schedule == schedule::PipelineSchedule::sequential ||
           plan_.micro_batches == plan_.pipelines;
}

bool Program::lies_in_ring(const Buffer& buffer) const {
    return !one_at_a_time() && is_held(buffer);
}

bool Program::is_held(const Buffer& buffer) {
    if (buffer.root != nullptr || buffer.storage != Storage::arena || buffer.site == kNoSite) return false;
    if (buffer.first_section < 0) return false;
    return buffer.kept || buffer.first_section != buffer.last_section;
}

schedule::Workers Program::workers_of(Section first, Section last) const {
    return lane(first) == lane(last) ? schedule::Workers::one : schedule::Workers::several;
}

std::int32_t Program::slot(Section section) const {
    return schedule::slot_of(plan_.pipeline(), section.stage, section.kind == Section::Kind::backward);
}

std::int64_t Program::places_of(const Buffer& buffer) const {
    const Section first = order_[static_cast<std::size_t>(buffer.first_section)];
    const Section last = order_[static_cast<std::size_t>(buffer.last_section)];
    if (!last.has_site()) return 1;  // kept for the update, which follows a single micro-batch
    return schedule::ring_places(plan_.pipeline(), slot(first), slot(last), workers_of(first, last));
}

/// A section begins a micro-batch after the previous section has finished it. Its results in a ring overwrite the
/// results of an earlier micro-batch, whose last reader must have finished.
void Program::set_waits() {
    for (std::size_t i = 1; i + 1 < order_.size(); ++i) {
        const bool follows = slot(order_[i]) > 0 && lane(order_[i]) != lane(order_[i - 1]);
        if (follows) waits_[i].push_back({i - 1, 0});
    }
    std::map<std::pair<int, int>, std::int64_t> rings;  // first and last section
    for (const Buffer& buffer : buffers_) {
        if (!lies_in_ring(buffer)) continue;
        rings[{buffer.first_section, buffer.last_section}] = places_of(buffer);
    }
    for (const auto& [ends, places] : rings) {
        const auto last = static_cast<std::size_t>(ends.second);
        const auto first = static_cast<std::size_t>(ends.first);
        if (order_[last].has_site() && lane(order_[first]) != lane(order_[last]))
            waits_[first].push_back({last, places});
    }
    if (!one_at_a_time()) {
        batches_in_flight_ =
            schedule::in_flight(plan_.pipeline(), 0, plan_.pipeline().slots() - 1,
                                schedule::Workers::one);  // the first stage's lane takes and returns them
    }
}

std::vector<Program::Arena> Program::plan_arenas() {
    std::vector<Arena> arenas(static_cast<std::size_t>(one_at_a_time() ? plan_.pipelines : plan_.lanes));
    for (Buffer& buffer : buffers_) {
        if (buffer.storage != Storage::arena || buffer.first_step < 0 || lies_in_ring(buffer)) continue;
        const Section first = order_[static_cast<std::size_t>(buffer.first_section)];
        Arena& arena = arenas[static_cast<std::size_t>(one_at_a_time() ? first.pipeline : lane(first))];
        arena.buffers.push_back(&buffer);
        arena.ranges.push_back(LiveRange{buffer.bytes, buffer.first_step, buffer.last_step});
    }
    for (Arena& arena : arenas)
        arena.plan = plan_memory(arena.ranges);
    return arenas;
}

std::size_t Program::copied_bytes(Copies copies) const {
    if (copies == Copies::all) return persistent_total();
    std::size_t largest = 0;
    for (const Buffer& buffer : buffers_) {
        if (buffer.storage == Storage::persistent) largest = std::max(largest, buffer.bytes);
    }
    return 2 * largest;  // in its own type and layout, and as the file has it
}

void Program::require_enough_memory(Copies copies) const {
    require_memory(persistent_bytes_ + arena_bytes_ + copied_bytes(copies) + kLibraryBytes, "cpu backend: this run");
}

void Program::place_arenas(const std::vector<Arena>& arenas) {
    for (const Arena& arena : arenas) {
        arenas_.emplace_back(arena.plan.total_bytes);
        for (std::size_t i = 0; i < arena.buffers.size(); ++i)
            arena.buffers[i]->data = arenas_.back().data() + arena.plan.offsets[i];
    }
}

std::size_t Program::ring_total() const {
    std::size_t total = 0;
    for (const Buffer& buffer : buffers_) {
        if (!lies_in_ring(buffer)) continue;
        total += static_cast<std::size_t>(places_of(buffer)) * round_up(buffer.bytes, kArenaAlignment);
    }
    return total;
}

void Program::place_rings() {
    rings_ = PageMemory(ring_total());
    std::byte* next = rings_.data();
    for (Buffer& buffer : buffers_) {
        if (!lies_in_ring(buffer)) continue;
        for (std::int64_t i = places_of(buffer); i > 0; --i) {
            buffer.places.push_back(next);
            next += round_up(buffer.bytes, kArenaAlignment);
        }
        buffer.data = buffer.places.front();
    }
}

std::size_t Program::persistent_total() const {
    std::size_t total = 0;
    for (const Buffer& buffer : buffers_) {
        if (buffer.storage == Storage::persistent && buffer.same_as == nullptr) total += persistent_room(buffer);
    }
    return total;
}

std::size_t Program::persistent_room(const Buffer& buffer) {
    return round_up(buffer.bytes, kCacheLineBytes);
}

void Program::place_persistent() {
    if (!weights_) weights_ = std::make_shared<WeightMemory>(persistent_total());
    exchanged_bytes_ = place_persistent(true, 0);
    place_persistent(false, exchanged_bytes_);
    for (Buffer& buffer : buffers_) {
        if (buffer.same_as != nullptr) buffer.data = buffer.same_as->data;
    }
}

/// Returns the end of the last buffer.
std::size_t Program::place_persistent(bool exchanged, std::size_t offset) {
    for (Buffer& buffer : buffers_) {
        if (buffer.storage != Storage::persistent || buffer.same_as != nullptr || buffer.exchanged != exchanged)
            continue;
        buffer.data = weights_->pages.data() + offset;
        offset += persistent_room(buffer);
    }
    return offset;
}

std::span<float> Program::exchanged() const {
    return {reinterpret_cast<float*>(weights_->pages.data()), exchanged_bytes_ / sizeof(float)};
}

void Program::prepare_once(const std::function<void()>& prepare) {
    const std::lock_guard lock(weights_->mutex);
    if (weights_->stale) prepare();
    weights_->stale = false;
}

void Program::weights_changed() {
    const std::lock_guard lock(weights_->mutex);
    weights_->stale = true;
}

/// Sets the addresses of aliases and of oneDNN's memory objects.
void Program::place_views() {
    std::map<const Buffer*, std::vector<Binding*>> bindings;
    for (Binding& binding : bindings_)
        bindings[binding.buffer].push_back(&binding);
    const auto batches = static_cast<std::size_t>(plan_.pipelines * batches_in_flight_);
    for (Buffer& buffer : buffers_) {
        const Buffer& origin = buffer.origin();
        if (origin.storage == Storage::external) buffer.places.resize(batches);
        if (buffer.root != nullptr) buffer.data = origin.data;
        const bool moves = origin.storage == Storage::external || origin.places.size() > 1;
        if (moves && buffer.site != kNoSite)
            moving_[static_cast<std::size_t>(buffer.site)].emplace_back(&buffer, bindings[&buffer]);
    }
    for (Binding& binding : bindings_) {
        std::byte* const start =
            binding.buffer == nullptr ? scratch_[binding.scratch].memory.data() : binding.buffer->data;
        if (start != nullptr) binding.memory.set_data_handle(start + binding.offset);
    }
}

void Program::count_stashes(std::vector<StageBytes>& stages) const {
    for (const Section section : backward_sections(0)) {
        std::set<const Buffer*> stashed;
        for (const Step& step : steps(section)) {
            for (const Placed& tensor : step.reads) {
                const Buffer& origin = tensor.buffer->origin();
                const bool forward =
                    origin.storage == Storage::arena && origin.first_section >= 0 &&
                    order_[static_cast<std::size_t>(origin.first_section)].kind == Section::Kind::forward;
                if (forward || origin.storage == Storage::external) stashed.insert(&origin);
            }
        }
        for (const Buffer* buffer : stashed)
            stages[static_cast<std::size_t>(section.stage)].stash += buffer->bytes;
    }
}

/// Variables and their copies count for the first stage that uses them.
void Program::count_variables(std::vector<StageBytes>& stages) const {
    std::set<const Buffer*> counted;
    for (std::size_t i = 1; i < order_.size(); ++i) {
        for (const Step& step : steps_[i]) {
            for (const auto* tensors : {&step.reads, &step.writes}) {
                for (const Placed& tensor : *tensors) {
                    const Buffer* buffer = tensor.buffer;
                    if (buffer->storage != Storage::persistent) continue;
                    if (buffer->same_as != nullptr) buffer = buffer->same_as;
                    if (counted.insert(buffer).second)
                        stages[static_cast<std::size_t>(step.stage)].variables += buffer->bytes;
                }
            }
        }
    }
}

std::vector<StageBytes> Program::stage_bytes() const {
    std::vector<StageBytes> stages(static_cast<std::size_t>(plan_.stages));
    count_stashes(stages);
    count_variables(stages);
    for (const Buffer& buffer : buffers_) {
        if (!is_held(buffer)) continue;
        const std::size_t places = lies_in_ring(buffer) ? static_cast<std::size_t>(places_of(buffer)) : 1;
        stages[static_cast<std::size_t>(buffer.site % plan_.stages)].held += places * buffer.bytes;
    }
    return stages;
}

std::vector<std::pair<std::string, std::size_t>> Program::persistent_tensors() const {
    std::vector<std::pair<std::string, std::size_t>> tensors;
    for (const Buffer& buffer : buffers_) {
        if (buffer.storage == Storage::persistent && buffer.same_as == nullptr)
            tensors.emplace_back(buffer.name, buffer.bytes);
    }
    return tensors;
}

std::vector<std::pair<std::string, std::size_t>> Program::held_tensors() const {
    std::vector<std::pair<std::string, std::size_t>> tensors;
    for (const Buffer& buffer : buffers_) {
        if (is_held(buffer)) tensors.emplace_back(buffer.name, buffer.bytes);
    }
    return tensors;
}

namespace {

bool overlap(const LiveRange& a, const LiveRange& b) {
    return a.first <= b.last && b.first <= a.last;
}

}  // namespace

MemoryPlan plan_memory(std::span<const LiveRange> ranges) {
    MemoryPlan plan;
    plan.offsets.resize(ranges.size());
    std::vector<std::size_t> by_size(ranges.size());
    std::iota(by_size.begin(), by_size.end(), 0);
    std::stable_sort(by_size.begin(), by_size.end(),
                     [&](std::size_t a, std::size_t b) { return ranges[a].bytes > ranges[b].bytes; });

    std::vector<std::size_t> placed;  // ordered by offset
    for (const std::size_t index : by_size) {
        const std::size_t bytes = round_up(ranges[index].bytes, kArenaAlignment);
        std::size_t offset = 0;
        for (const std::size_t other : placed) {
            if (!overlap(ranges[index], ranges[other])) continue;
            if (plan.offsets[other] >= offset + bytes) break;
            offset = std::max(offset, plan.offsets[other] + round_up(ranges[other].bytes, kArenaAlignment));
        }
        plan.offsets[index] = offset;
        plan.total_bytes = std::max(plan.total_bytes, offset + bytes);
        const auto at =
            std::upper_bound(placed.begin(), placed.end(), offset,
                             [&](std::size_t value, std::size_t other) { return value < plan.offsets[other]; });
        placed.insert(at, index);
    }
    return plan;
}

}  // namespace cnntrain::cpu
