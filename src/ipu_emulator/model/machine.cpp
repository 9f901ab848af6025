#include "ipu_emulator/model/machine.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include <poplar/exceptions.hpp>

#include "ipu_emulator/model/options.h"
#include "ipu_emulator/model/program_node.h"
#include "ipu_emulator/numerics/random.h"

namespace ipu_emulator {
namespace {

#ifdef NDEBUG
std::atomic<bool> reads_are_checked{false};
#else
std::atomic<bool> reads_are_checked{true};
#endif

constexpr std::size_t kAlignment = 64;
constexpr int kPoison = 0xff;  // NaN, whatever the floating-point type

}  // namespace

bool checks_reads() {
    return reads_are_checked;
}

void check_reads(bool check) {
    reads_are_checked = check;
}

Machine::Machine(std::shared_ptr<const GraphData> graph, std::span<const poplar::Program> programs,
                 const poplar::OptionFlags& given)
    : origin_(std::move(graph)), graph_(*origin_), kept_(programs.begin(), programs.end()) {
    const poplar::OptionFlags options = with_environment(given);
    check_engine_options(options);
    if (bool_option(options, "debug.floatPointOpException", false))
        initial_control_.traps = kInvalid | kDivision | kOverflowed;
    initial_control_.nan_on_overflow = bool_option(options, "debug.nanOverflowMode", false);
    initial_control_.stochastic = bool_option(options, "prng.enableStochasticRounding", false);
    initial_seed_ = count_option(options, "prng.seed", 0);
    used_.resize(graph_.variables.size());
    for (const poplar::Program& program : programs)
        programs_.push_back(&compile(program));
    for (const auto& [handle, tensor] : graph_.host_reads)
        host_reads_.emplace(handle, regions(tensor));
    for (const auto& [handle, tensor] : graph_.host_writes)
        host_writes_.emplace(handle, regions(tensor));
    check_mapping();
    const bool prefetch = bool_option(options, "exchange.enablePrefetch", false);
    for (const Stream& stream : graph_.streams)
        ports_.push_back(std::make_unique<StreamPort>(stream, prefetch));
    for (unsigned i = 0; i < graph_.replicas; ++i)
        all_replicas_.push_back(i);
}

Machine::~Machine() = default;

Regions Machine::regions(const poplar::Tensor& t) {
    if (Access::data(t).graph != origin_.get())
        throw poplar::control_program_error("Engine: the program uses a tensor of another graph");
    if (view_of(t).strided()) {
        used_[view_of(t).variable()] = true;
    } else {
        for (const Run& run : view_of(t).runs())
            used_[run.variable] = true;
    }
    return Regions(graph_, Access::data(t));
}

void Machine::check_mapping() {
    for (std::size_t i = 0; i < used_.size(); ++i) {
        if (!used_[i]) continue;
        const Variable& variable = graph_.variables[i];
        std::size_t mapped = 0;
        for (const TileSpan& span : variable.mapping)
            mapped += span.end - span.begin;
        if (mapped == variable.elements) continue;
        throw poplar::invalid_tile_mapping("Engine: " + std::to_string(variable.elements - mapped) + " of " +
                                           std::to_string(variable.elements) + " elements of the " +
                                           (variable.content == Content::variable ? "variable" : "constant") + " \"" +
                                           variable.name + "\" are on no tile; call Graph::setTileMapping");
    }
}

Step& Machine::compile(const poplar::Program& program) {
    const auto [at, fresh] = compiled_.try_emplace(Access::node(program).get(), nullptr);
    if (fresh) {
        steps_.push_back(make_step(program));
        compiled_[Access::node(program).get()] = steps_.back().get();
        return *steps_.back();
    }
    if (at->second == nullptr) throw poplar::graph_recursion_error("Engine: a program runs itself");
    return *at->second;
}

std::unique_ptr<Step> Machine::make_step(const poplar::Program& program) {
    struct Nothing : Step {
        void run(Machine&, std::span<const unsigned>) override {}
    };
    using Kind = ProgramNode::Kind;
    if (Access::node(program) == nullptr) return std::make_unique<Nothing>();
    const ProgramNode& node = *Access::node(program);
    switch (node.kind) {
        case Kind::op:
            return make_op_step(*this, node.op);
        case Kind::copy:
            return make_copy_step(*this, node.tensors[0], node.tensors[1]);
        case Kind::from_stream:
        case Kind::to_stream:
        case Kind::from_buffer:
        case Kind::to_buffer:
            return make_transfer_step(*this, node);
        case Kind::call:
            if (node.graph != origin_.get())
                throw poplar::control_program_error("Engine: the program calls a function of another graph");
            break;
        default:
            break;
    }
    return make_control_step(*this, node);
}

void Machine::allocate(Replica& replica) {
    replica.bases.resize(graph_.variables.size(), nullptr);
    for (std::size_t i = 0; i < graph_.variables.size(); ++i) {
        if (!used_[i]) continue;
        const Variable& variable = graph_.variables[i];
        const bool shared = variable.content == Content::constant && replica.index != 0;
        if (shared) {
            replica.bases[i] = replicas_[0]->bases[i];
            continue;
        }
        std::size_t bytes = variable.elements * type_size(variable.type);
        bytes = (bytes / kAlignment + 1) * kAlignment;
        // calloc's pages cost nothing before they are used.
        std::unique_ptr<std::byte, void (*)(void*)> memory(static_cast<std::byte*>(std::calloc(bytes, 1)), std::free);
        if (memory == nullptr) throw std::bad_alloc();
        replica.bases[i] = memory.get();
        memory_.push_back(std::move(memory));
    }
}

void Machine::initialise(Replica& replica) {
    const bool checked = checks_reads();
    replica.written.assign(checked ? graph_.variables.size() : 0, {});
    for (std::size_t i = 0; i < graph_.variables.size(); ++i) {
        if (!used_[i]) continue;
        const Variable& variable = graph_.variables[i];
        const std::size_t size = type_size(variable.type);
        std::byte* base = replica.bases[i];
        if (checked) {
            const bool known = variable.content != Content::variable;
            replica.written[i].assign(variable.elements, known ? 1 : 0);
            if (!known) std::memset(base, kPoison, variable.elements * size);
        }
        if (variable.content == Content::replica_index) {
            std::memcpy(base, &replica.index, sizeof replica.index);
        } else if (variable.content == Content::constant) {
            if (replica.index == 0) std::memcpy(base, variable.values.data(), variable.values.size());
        } else if (!variable.initialised.empty()) {
            for (std::size_t e = 0; e < variable.elements; ++e) {
                if (!variable.initialised[e]) continue;
                std::memcpy(base + e * size, &variable.values[e * size], size);
                if (checked) replica.written[i][e] = 1;
            }
        }
    }
    replica.control.assign(graph_.tiles, initial_control_);
    replica.seeds.resize(std::size_t{graph_.tiles} * kWordsPerTile);
    for (unsigned tile = 0; tile < graph_.tiles; ++tile)
        seed_tile(mix(initial_seed_, replica.index), tile, &replica.seeds[std::size_t{tile} * kWordsPerTile]);
}

void Machine::load(const poplar::Target& target) {
    const poplar::Target& own = graph_.target;
    if (target.getNumIPUs() != own.getNumIPUs() || target.getTilesPerIPU() != own.getTilesPerIPU()) {
        throw poplar::graph_replication_error("Engine::load: the graph is for " + std::to_string(own.getNumIPUs()) +
                                              " IPUs of " + std::to_string(own.getTilesPerIPU()) +
                                              " tiles, the device has " + std::to_string(target.getNumIPUs()) + " of " +
                                              std::to_string(target.getTilesPerIPU()));
    }
    if (replicas_.empty()) {
        for (unsigned i = 0; i < graph_.replicas; ++i) {
            replicas_.push_back(std::make_unique<Replica>());
            replicas_.back()->index = i;
            replicas_.back()->graph = &graph_;
            allocate(*replicas_.back());
        }
        for (const poplar::RemoteBuffer& buffer : graph_.remote_buffers) {
            const std::size_t row = buffer.numElements() * type_size(buffer.elementType());
            remote_.emplace_back(row * buffer.getRepeats() * graph_.replicas);
            remote_written_.emplace_back(buffer.getRepeats() * graph_.replicas);
        }
    }
    for (auto& replica : replicas_)
        initialise(*replica);
    loaded_ = true;
}

void Machine::run(unsigned program) {
    if (!loaded_) throw poplar::runtime_error("Engine::run: call Engine::load first");
    if (program >= programs_.size()) {
        throw poplar::index_error("Engine::run: there is no program " + std::to_string(program) + " among " +
                                  std::to_string(programs_.size()));
    }
    try {
        programs_[program]->run(*this, all_replicas_);
    } catch (...) {
        for (auto& port : ports_)
            port->drop_prefetched();
        throw;
    }
    for (auto& port : ports_)
        port->drop_prefetched();
    LocalScratch::spread();
}

StreamPort& Machine::port(const std::string& handle) {
    for (const Stream& stream : graph_.streams)
        if (stream.stream.handle() == handle) return *ports_[Access::index(stream.stream)];
    throw poplar::stream_connection_error("Engine: the graph has no stream \"" + handle + "\"");
}

RemoteRow Machine::row(std::size_t buffer, std::uint64_t repeat, unsigned replica) {
    const poplar::RemoteBuffer& remote = graph_.remote_buffers[buffer];
    if (repeat >= remote.getRepeats() || replica >= graph_.replicas) {
        throw poplar::index_error("the remote buffer \"" + remote.handle() + "\" has " +
                                  std::to_string(remote.getRepeats()) + " rows for each of " +
                                  std::to_string(graph_.replicas) + " replicas; there is no row " +
                                  std::to_string(repeat) + " of replica " + std::to_string(replica));
    }
    const std::size_t bytes = remote.numElements() * type_size(remote.elementType());
    const std::size_t row = replica * remote.getRepeats() + repeat;
    return {remote_[buffer].data() + row * bytes, remote_written_[buffer][row]};
}

void Machine::copy_row(const std::string& handle, std::uint64_t repeat, unsigned replica, const void* from, void* to) {
    if (!loaded_) throw poplar::runtime_error("Engine: call Engine::load before remote buffers are read or written");
    for (const poplar::RemoteBuffer& buffer : graph_.remote_buffers) {
        if (buffer.handle() != handle) continue;
        const RemoteRow remote = row(Access::index(buffer), repeat, replica);
        const std::size_t bytes = buffer.numElements() * type_size(buffer.elementType());
        if (from != nullptr) {
            std::memcpy(remote.memory, from, bytes);
            remote.written = 1;
        } else {
            if (!replicas_[replica]->written.empty() && remote.written == 0) {
                throw poplar::application_runtime_error("Engine::copyFromRemoteBuffer: nothing has written row " +
                                                        std::to_string(repeat) + " of the remote buffer \"" + handle +
                                                        "\" of replica " + std::to_string(replica));
            }
            std::memcpy(to, remote.memory, bytes);
        }
        return;
    }
    throw poplar::stream_connection_error("Engine: the graph has no remote buffer \"" + handle + "\"");
}

namespace {

const Regions& host_regions(const std::map<std::string, Regions>& all, const std::string& handle,
                            const std::string& maker) {
    const auto at = all.find(handle);
    if (at != all.end()) return at->second;
    throw poplar::tensor_io_state_error("Engine: there is no tensor \"" + handle + "\"; call Graph::" + maker);
}

void check_size(const std::string& handle, std::size_t given, std::size_t one, unsigned replicas, bool one_for_all) {
    if (given == one * replicas || (one_for_all && given == one)) return;
    throw poplar::tensor_io_state_error("Engine: the tensor \"" + handle + "\" has " + std::to_string(one) +
                                        " bytes on each of " + std::to_string(replicas) + " replicas, the memory " +
                                        std::to_string(given));
}

}  // namespace

void Machine::read_tensor(const std::string& handle, std::byte* begin, std::byte* end) {
    if (!loaded_) throw poplar::tensor_io_state_error("Engine::readTensor: call Engine::load first");
    const Regions& from = host_regions(host_reads_, handle, "createHostRead");
    const std::size_t bytes = from.count() * from.element_size();
    check_size(handle, static_cast<std::size_t>(end - begin), bytes, graph_.replicas, false);
    for (auto& replica : replicas_) {
        replica->need_written(from, "Engine::readTensor(\"" + handle + "\")");
        from.gather(replica->bases.data(), 0, from.count(), begin + replica->index * bytes);
    }
}

void Machine::write_tensor(const std::string& handle, const std::byte* begin, const std::byte* end) {
    if (!loaded_) throw poplar::tensor_io_state_error("Engine::writeTensor: call Engine::load first");
    const Regions& to = host_regions(host_writes_, handle, "createHostWrite");
    const std::size_t bytes = to.count() * to.element_size();
    const auto given = static_cast<std::size_t>(end - begin);
    check_size(handle, given, bytes, graph_.replicas, true);
    for (auto& replica : replicas_) {
        to.scatter(replica->bases.data(), 0, to.count(), begin + (given == bytes ? 0 : replica->index * bytes));
        replica->mark(to, true);
    }
}

void Machine::need_all(std::span<const unsigned> active, const std::string& what) const {
    if (active.size() == graph_.replicas) return;
    throw poplar::application_runtime_error(what + ": only " + std::to_string(active.size()) + " of " +
                                            std::to_string(graph_.replicas) +
                                            " replicas came here, because a condition differs between them; an IPU "
                                            "would wait for ever");
}

}  // namespace ipu_emulator
