// The program of a compiled graph: buffers and the steps that read and write them, in sections.
//
//   prepare         copies of parameters in the layouts and types that other steps read; after a load and an update
//   forward(s, p)   stage s of the forward pass of one micro-batch, in pipeline p
//   backward(s, p)  stage s of its backward pass, with recomputed forward values
//   update          once per weight update
//
// A pair of a stage and a pipeline is a site. Its sections run on one lane, so that two threads never use its buffers
// at a time. A site reads another site's results through its own alias buffer (seen_from()), whose address changes with
// the micro-batch.
//
// Memory: if micro-batches run one after another, each pipeline has one arena, planned by live ranges over all its
// sections. If several micro-batches of a pipeline are in flight, values that cross sections use a ring with one place
// per micro-batch in flight, all others an arena per lane.
//
// Lowering fills a Program; finish() plans the memory. Nothing is allocated afterwards.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/cpu/onednn.h"
#include "cnntrain/backend/backend.h"
#include "cnntrain/parallel/pipeline.h"

namespace cnntrain::cpu {

// Offsets in one arena for buffers that live over known ranges of steps. Pure arithmetic.

/// A buffer is live from step `first` to step `last`, both inclusive.
struct LiveRange {
    std::size_t bytes = 0;
    int first = 0;
    int last = 0;
};

struct MemoryPlan {
    std::vector<std::size_t> offsets;  // one per range, multiples of kArenaAlignment
    std::size_t total_bytes = 0;
};

inline constexpr std::size_t kArenaAlignment = 4096;
inline constexpr std::size_t kCacheLineBytes = 64;

/// The next multiple of `unit`.
constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

/// Largest first, each at the lowest offset that no range live at the same time occupies.
MemoryPlan plan_memory(std::span<const LiveRange> ranges);

class GradientExchange;
class NormExchange;
class Progress;

enum class Storage : std::uint8_t {
    arena,       // lives from its first to its last use within one micro-batch, or to the end of the update
    persistent,  // lives as long as the program
    external,    // memory of the input batch, bound before each micro-batch
    scalar,      // a scalar of the graph, set before each weight update
};

/// Stage s of pipeline p; prepare and update have none.
using Site = std::int32_t;
inline constexpr Site kNoSite = -1;

struct Buffer {
    std::string name;
    std::size_t bytes = 0;
    Storage storage = Storage::arena;
    Site site = kNoSite;
    std::byte* data = nullptr;
    int first_step = -1;  // positions in the execution order of its pipeline
    int last_step = -1;
    int first_section = -1;  // positions in Program::sections()
    int last_section = -1;
    bool kept = false;          // until the end of the update
    bool exchanged = false;     // floats that are summed over ranks, contiguous in memory
    int sharded_as = -1;        // index of the sum over ranks if this rank has a piece of it only; otherwise -1
    Buffer* same_as = nullptr;  // the buffer whose memory it shares, if any
    Buffer* root = nullptr;     // the buffer of which it is another site's alias, if any
    std::vector<std::byte*> places = {};  // ring, by micro-batch of the pipeline; empty: a fixed address

    Buffer& origin() { return root == nullptr ? *this : *root; }
    const Buffer& origin() const { return root == nullptr ? *this : *root; }
};

/// A tensor in memory. Copies refer to the same buffer, views to a part of it.
struct Placed {
    Buffer* buffer = nullptr;
    Desc desc;
    DType dtype = DType::f32;
    std::size_t offset = 0;  // in bytes, from the beginning of the buffer

    explicit operator bool() const { return buffer != nullptr; }
    /// Null for an absent tensor.
    template <typename T> T* as() const {
        return buffer == nullptr ? nullptr : reinterpret_cast<T*>(buffer->data + offset);
    }
    /// Elements in memory, including the padding of blocks.
    std::int64_t stored_elements() const { return static_cast<std::int64_t>(desc.get_size() / size_bytes(dtype)); }
};

/// The tensors that have a buffer.
std::vector<Placed> present(std::initializer_list<Placed> tensors);

/// Values that change from one execution to the next.
struct StepContext {
    std::int64_t micro_batch = 0;          // within the weight update
    std::int64_t first_sample = 0;         // of the micro-batch, in the stream of all ranks
    std::int64_t iteration = 0;            // keys the random numbers of stochastic rounding
    Progress* turns = nullptr;             // for sums to which several pipelines add; null: no other pipeline runs
    GradientExchange* exchange = nullptr;  // sums over ranks; null: a single rank, or sums that do not count
    NormExchange* norms = nullptr;         // with ranks that share batch-norm statistics; null: there are none
    bool follows_update = false;           // in prepare: only the update has changed the variables
};

struct Step {
    std::string name;
    std::string op;
    std::string implementation;
    double flops = 0;
    std::vector<Placed> reads;
    std::vector<Placed> writes;
    std::function<void(const StepContext&)> run;
    std::int32_t stage = 0;  // stage of its node
    bool by_update = false;  // in prepare: runs only after a load, because the update itself writes the same copy

    double bytes_moved() const;
};

/// A list of steps that run without a break.
struct Section {
    enum class Kind : std::uint8_t { prepare, forward, backward, update };
    Kind kind = Kind::prepare;
    std::int32_t stage = 0;     // forward and backward only
    std::int32_t pipeline = 0;  // forward and backward only

    static constexpr Section prepare() { return {Kind::prepare, 0, 0}; }
    static constexpr Section forward(std::int32_t stage, std::int32_t pipeline) {
        return {Kind::forward, stage, pipeline};
    }
    static constexpr Section backward(std::int32_t stage, std::int32_t pipeline) {
        return {Kind::backward, stage, pipeline};
    }
    static constexpr Section update() { return {Kind::update, 0, 0}; }
    bool has_site() const { return kind == Kind::forward || kind == Kind::backward; }
    bool operator==(const Section&) const = default;
};

struct Unmap {
    std::size_t bytes = 0;
    void operator()(std::byte* memory) const;
};

/// Page-aligned zeroed memory, in huge pages if the system has them.
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

/// Variables and the copies of them. Programs of one graph may share them.
struct WeightMemory {
    explicit WeightMemory(std::size_t bytes) : pages(bytes) {}

    PageMemory pages;
    std::mutex mutex;
    bool stale = true;  // the copies have to be made
};

/// Arguments of a oneDNN primitive: DNNL_ARG_... and the tensor.
using Arguments = std::vector<std::pair<int, Placed>>;

/// A section must not begin its micro-batch m before `section` has finished m - behind.
struct Wait {
    std::size_t section = 0;  // position
    std::int64_t behind = 0;
};

/// Memory of a stage in all pipelines, in bytes.
struct StageBytes {
    std::uint64_t variables = 0;  // parameters, slots, and copies derived from them
    /// Inputs and forward values of one micro-batch that the stage's backward pass reads.
    std::uint64_t stash = 0;
    /// Values that cross sections, for all micro-batches in flight.
    std::uint64_t held = 0;
};

/// Variables that are copied at a time when a checkpoint is written.
enum class Copies : std::uint8_t { one, all };

class Program {
public:
    /// `lane_of`: by site, stages of pipeline 0 first.
    Program(const OneDnn& onednn, const schedule::Placement& plan, std::vector<std::int32_t> lane_of);

    const schedule::Placement& plan() const { return plan_; }
    /// All sections in the execution order of one micro-batch, from prepare to update.
    std::span<const Section> sections() const { return order_; }
    std::span<const Section> forward_sections(std::int32_t pipeline) const;
    std::span<const Section> backward_sections(std::int32_t pipeline) const;
    /// The forward and backward sections of a pipeline.
    std::span<const Section> micro_batch_sections(std::int32_t pipeline) const;
    /// Index in sections().
    std::size_t position(Section section) const;
    Site site(Section section) const;
    /// The lane that runs the section. prepare and update run on the caller's threads while all lanes are idle.
    std::int32_t lane(Section section) const;

    /// `section`: the first one that uses the buffer.
    Buffer* add_buffer(std::string name, std::size_t bytes, Storage storage, Section section);
    /// A buffer for a float that set_scalars() sets.
    Buffer* add_scalar(const std::string& name);
    /// No section may run meanwhile.
    void set_scalars(const backend::ScalarValues& values);
    /// The buffer, or its alias for the section's site.
    Buffer* seen_from(Section section, Buffer* buffer);
    void add_step(Section section, Step step);
    /// Adds a step that runs one oneDNN primitive. `like`: its name, op, work and place in the graph.
    void add_primitive(Section section, Step like, const Primitive& primitive, const Arguments& arguments,
                       const std::vector<int>& written);
    /// A call of a primitive on these arguments, for use within a step of the section.
    std::function<void()> bound_call(Section section, const Primitive& primitive, const Arguments& arguments);
    /// Adds a step that runs a single-threaded primitive on several lists of arguments in parallel.
    void add_parts(Section section, Step like, const Primitive& primitive, const std::vector<Arguments>& parts,
                   const std::vector<int>& written);
    /// Reserves memory that any step of the section may use while it runs. scratch() is valid after finish().
    void reserve_scratch(Section section, std::size_t bytes);
    std::byte* scratch(Section section) const { return scratch_[scratch_of(section)].memory.data(); }
    /// Index in Progress of a sum to which several pipelines add.
    std::size_t add_turn() { return turns_++; }
    std::size_t turns() const { return turns_; }
    /// Registers a buffer that is summed over the micro-batches of an update. `layout`: name of its elements' order.
    void add_accumulator(Buffer* buffer, std::string layout) { accumulators_.emplace_back(buffer, std::move(layout)); }
    const std::vector<std::pair<Buffer*, std::string>>& accumulators() const { return accumulators_; }
    /// Keeps an arena buffer alive until the end of the update.
    void keep_to_end(Buffer* buffer) { buffer->origin().kept = true; }

    /// Plans memory and sets addresses. Nothing can be added afterwards. Error(unsupported) if there is too little
    /// memory. `owner`: a finished program of the same graph for as many threads, whose weights it shares; null: there
    /// is none.
    void finish(Copies copies = Copies::one, const Program* owner = nullptr);
    /// Runs `prepare` unless this program, or one with which it shares weights, has done so since weights_changed().
    void prepare_once(const std::function<void()>& prepare);
    void weights_changed();
    /// Instead of finish(): only the sizes of the memory, for a program that will not run.
    void count_memory();
    /// Sets the address of an external buffer for micro-batch `number` of a pipeline.
    void bind(Buffer* buffer, std::int32_t pipeline, std::int64_t number, std::byte* data);
    /// Call before a section runs: sets the addresses of its site's buffers for micro-batch `number` of the pipeline.
    void turn_to(Section section, std::int64_t number);
    /// Maximum number of micro-batches in flight per pipeline.
    std::int64_t batches_in_flight() const { return batches_in_flight_; }
    /// The sections for which a section waits. Valid after finish().
    const std::vector<Wait>& waits(Section section) const { return waits_[position(section)]; }

    const std::vector<Step>& steps(Section section) const { return steps_[position(section)]; }
    // Sizes, valid after finish() or count_memory()
    /// The bytes of every stage.
    std::vector<StageBytes> stage_bytes() const;
    /// Names and bytes. A name begins with the name of the variable, or of the gradient that the tensor accumulates.
    std::vector<std::pair<std::string, std::size_t>> persistent_tensors() const;
    /// Values that cross sections, for one micro-batch: names and bytes.
    std::vector<std::pair<std::string, std::size_t>> held_tensors() const;
    /// Bytes of activations and gradients.
    std::size_t arena_bytes() const { return arena_bytes_; }
    std::size_t persistent_bytes() const { return persistent_bytes_; }
    /// Bytes of a persistent buffer, including the gap after it.
    static std::size_t persistent_room(const Buffer& buffer);
    /// The memory of all buffers that are summed over ranks, in the order of add_buffer(). Valid after finish().
    std::span<float> exchanged() const;

private:
    struct Binding {
        dnnl::memory memory;
        Buffer* buffer;
        std::size_t scratch;  // index of the scratch memory, if there is no buffer
        std::size_t offset;
    };
    struct Scratch {
        std::size_t bytes = 0;
        PageMemory memory;
    };
    struct Arena {
        std::vector<Buffer*> buffers;
        std::vector<LiveRange> ranges;  // of the buffers
        MemoryPlan plan;
    };
    using Call = std::vector<dnnl_exec_arg_t>;
    /// True if a pipeline has one micro-batch in flight at a time.
    bool one_at_a_time() const;
    std::size_t scratch_of(Section section) const { return static_cast<std::size_t>(lane(section)); }
    /// Arguments in oneDNN's form. `scratch_offset`: of the call's scratchpad in the shared scratch memory.
    Call bind_call(Section section, const Primitive& primitive, const Arguments& arguments, std::size_t scratch_offset);
    static void move_to(Buffer& buffer, std::byte* data, std::span<Binding* const> bindings);
    std::int32_t slot(Section section) const;
    schedule::Workers workers_of(Section first, Section last) const;
    static void touch(Buffer& buffer, int section, int step);
    void set_live_ranges();
    void set_waits();
    /// True if the buffer lives across sections.
    static bool is_held(const Buffer& buffer);
    bool lies_in_ring(const Buffer& buffer) const;
    std::int64_t places_of(const Buffer& buffer) const;
    std::vector<Arena> plan_arenas();
    std::size_t copied_bytes(Copies copies) const;
    void require_enough_memory(Copies copies) const;
    void place_rings();
    void place_arenas(const std::vector<Arena>& arenas);
    void place_persistent();
    std::size_t place_persistent(bool exchanged, std::size_t offset);
    void place_views();
    std::size_t persistent_total() const;
    std::size_t ring_total() const;
    void count_stashes(std::vector<StageBytes>& stages) const;
    void count_variables(std::vector<StageBytes>& stages) const;

    const OneDnn& onednn_;
    schedule::Placement plan_;
    std::vector<std::int32_t> lane_of_;  // by site
    std::vector<Section> order_;
    std::vector<std::vector<Step>> steps_;  // by position
    std::vector<std::vector<Wait>> waits_;  // by position
    std::deque<Buffer> buffers_;
    using Scalars = std::array<float, backend::kScalarNames.size()>;
    std::unique_ptr<Scalars> scalars_ = std::make_unique<Scalars>();  // to which buffers point
    std::map<std::pair<const Buffer*, Site>, Buffer*> views_;         // aliases for other sites
    std::deque<Binding> bindings_;
    /// The buffers of each site whose address changes with the micro-batch, and their oneDNN memory objects.
    std::vector<std::vector<std::pair<Buffer*, std::vector<Binding*>>>> moving_;
    std::size_t turns_ = 0;
    std::vector<std::pair<Buffer*, std::string>> accumulators_;
    std::int64_t batches_in_flight_ = 1;
    std::vector<PageMemory> arenas_;
    PageMemory rings_;
    std::shared_ptr<WeightMemory> weights_;
    std::size_t arena_bytes_ = 0;
    std::size_t persistent_bytes_ = 0;
    std::size_t exchanged_bytes_ = 0;  // at the beginning of the persistent memory
    std::vector<Scratch> scratch_;     // by lane
};

}  // namespace cnntrain::cpu
