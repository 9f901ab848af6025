// Compiled programs and the state of all replicas.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <poplar/Device.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poplar/StreamCallback.hpp>

#include "ipu_emulator/model/graph_data.h"
#include "ipu_emulator/model/op_run.h"

namespace ipu_emulator {

struct ProgramNode;

/// True if engines find reads of elements that nothing has written. On in debug builds; tests switch it on.
bool checks_reads();
void check_reads(bool check);

class Machine;

/// A node of a program, made ready. `active`: the replicas that run it.
struct Step {
    virtual ~Step() = default;
    virtual void run(Machine& machine, std::span<const unsigned> active) = 0;
};

/// The host's end of a stream.
class StreamPort {
public:
    StreamPort(const Stream& stream, bool prefetch);

    void connect(std::byte* begin, std::byte* end);
    /// Memory for one transfer, used again each time.
    void connect(std::byte* begin) { connect(begin, begin + bytes_); }
    // The last connection counts.
    /// Connects a callback that serves all replicas in turn; replaces callbacks of single replicas.
    void connect(std::unique_ptr<poplar::StreamCallback> callback) { connect_queue(replicas_, std::move(callback)); }
    void connect(unsigned replica, std::unique_ptr<poplar::StreamCallback> callback);
    /// One transfer of `replica`. To the device: returns where the data lies until finish().
    const std::byte* fetch(unsigned replica);
    void finish(unsigned replica);
    void deliver(unsigned replica, const std::byte* data);
    /// Drops prefetched data at the end of a run.
    void drop_prefetched();
    std::byte* buffer() { return buffer_.get(); }

private:
    /// Filled buffers, oldest first, of a callback.
    struct Queue {
        std::unique_ptr<poplar::StreamCallback> callback;
        std::vector<std::unique_ptr<std::byte[]>> buffers;
        std::size_t first = 0;
        std::size_t filled = 0;
    };
    void connect_queue(std::size_t queue, std::unique_ptr<poplar::StreamCallback> callback);
    Queue& queue(unsigned replica);
    bool prefetch_one(Queue& queue);

    std::string handle_;
    std::size_t bytes_;
    std::size_t depth_;  // 0: no prefetch
    unsigned replicas_;
    std::byte* begin_ = nullptr;
    std::byte* end_ = nullptr;
    std::byte* next_ = nullptr;
    std::vector<Queue> queues_;  // one for each replica, and one for all
    std::unique_ptr<std::byte[]> buffer_;
};

/// A row of a replica's remote buffer.
struct RemoteRow {
    std::byte* memory;
    std::uint8_t& written;
};

class Machine {
public:
    /// Keeps the graph alive, and does not see what is added to it from now on.
    Machine(std::shared_ptr<const GraphData> graph, std::span<const poplar::Program> programs,
            const poplar::OptionFlags& options);
    ~Machine();

    void load(const poplar::Target& target);
    void run(unsigned program);

    StreamPort& port(const std::string& handle);
    StreamPort& port(std::size_t stream) { return *ports_[stream]; }
    /// Copies `from` into a row of a remote buffer, or the row to `to`. Throws stream_connection_error, index_error.
    void copy_row(const std::string& handle, std::uint64_t repeat, unsigned replica, const void* from, void* to);
    RemoteRow row(std::size_t buffer, std::uint64_t repeat, unsigned replica);
    void read_tensor(const std::string& handle, std::byte* begin, std::byte* end);
    void write_tensor(const std::string& handle, const std::byte* begin, const std::byte* end);

    /// The graph as it was when the machine was made.
    const GraphData& graph() const { return graph_; }
    Replica& replica(unsigned i) { return *replicas_[i]; }
    unsigned replica_count() const { return graph_.replicas; }
    /// Throws application_runtime_error for operations that all replicas do together.
    void need_all(std::span<const unsigned> active, const std::string& what) const;

    // Functions for the compilation of programs.
    Step& compile(const poplar::Program& program);
    Regions regions(const poplar::Tensor& t);

private:
    void check_mapping();
    std::unique_ptr<Step> make_step(const poplar::Program& program);
    void allocate(Replica& replica);
    void initialise(Replica& replica);

    std::shared_ptr<const GraphData> origin_;
    const GraphData graph_;
    Control initial_control_;
    std::uint64_t initial_seed_;
    std::vector<std::unique_ptr<Step>> steps_;
    std::map<const void*, Step*> compiled_;
    std::vector<bool> used_;             // variables
    std::vector<poplar::Program> kept_;  // steps refer to their operations
    std::vector<Step*> programs_;
    std::map<std::string, Regions> host_reads_;
    std::map<std::string, Regions> host_writes_;
    std::vector<std::unique_ptr<StreamPort>> ports_;
    /// [buffer]: [replica][repeat][element], and [replica][repeat].
    std::vector<std::vector<std::byte>> remote_;
    std::vector<std::vector<std::uint8_t>> remote_written_;
    std::vector<std::unique_ptr<Replica>> replicas_;
    std::vector<std::unique_ptr<std::byte, void (*)(void*)>> memory_;
    std::vector<unsigned> all_replicas_;
    bool loaded_ = false;
};

// Steps of each kind, for compile().
std::unique_ptr<Step> make_op_step(Machine& machine, const HostOp& op);
std::unique_ptr<Step> make_copy_step(Machine& machine, const poplar::Tensor& source, const poplar::Tensor& destination);
std::unique_ptr<Step> make_transfer_step(Machine& machine, const ProgramNode& node);
std::unique_ptr<Step> make_control_step(Machine& machine, const ProgramNode& node);

}  // namespace ipu_emulator
