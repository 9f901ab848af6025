// The context of a running operation: operands, rounding, scratch memory, threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <poplar/Program.hpp>
#include <poplar/Tensor.hpp>
#include <span>
#include <string>
#include <vector>

#include "ipu_emulator/model/regions.h"
#include "ipu_emulator/numerics/half.h"
#include "ipu_emulator/numerics/threads.h"

namespace ipu_emulator {

// An operation of a program: what a library function adds in the place of an IPU's compute sets.

class OpRun;

/// The occasions on which the random state of the tiles that hold results advances.
enum class Draws {
    results,  // if results are half and the tile rounds stochastically
    inside,   // if the tile rounds stochastically, whatever the results: partials or intermediate values are half
};

struct HostOp {
    std::string name;
    std::vector<poplar::Tensor> reads = {};
    /// Read too, but only in part: the rest may never have been written. Operands are numbered after `reads`.
    std::vector<poplar::Tensor> partial_reads = {};
    std::vector<poplar::Tensor> writes = {};
    Draws draws = Draws::results;
    /// run() marks what it has written; else all of `writes` is.
    bool marks_writes = false;
    /// Computes one replica. Called from several threads for different replicas.
    std::function<void(OpRun&)> run = {};
    /// Computes all replicas, in the place of run(), for operations between replicas.
    std::function<void(std::span<OpRun>)> run_together = {};
};

/// An operand that shares memory with a result without being the same view is copied before the operation. Throws
/// graph_connection_error for writes to constants or aliases.
void add_op(poplar::program::Sequence& prog, HostOp op);
poplar::Program make_op(HostOp op);

bool may_overlap(const poplar::Tensor& a, const poplar::Tensor& b);
/// `t`, or a copy of it if it shares memory with `out`.
poplar::Tensor apart_from(const poplar::Tensor& out, const poplar::Tensor& t, poplar::program::Sequence& prog,
                          const std::string& name);

/// Elements that loops convert at once: they stay in the first cache.
constexpr std::size_t kChunk = 1024;

/// Arithmetic errors of an operation, whether or not they trap.
enum Mishap : unsigned { kInvalid = 1, kDivision = 2, kOverflowed = 4 };

/// Arithmetic settings of a tile. Programs see them as a word of bits.
struct Control {
    unsigned traps = 0;  // mishaps that stop the program
    bool stochastic = false;
    bool nan_on_overflow = false;

    Overflow overflow() const { return nan_on_overflow ? Overflow::nan : Overflow::saturate; }
    std::uint32_t word() const { return traps | (stochastic ? 8u : 0u) | (nan_on_overflow ? 16u : 0u); }
    static Control of(std::uint32_t word) { return {word & 7u, (word & 8u) != 0, (word & 16u) != 0}; }
};

/// Memory that keeps its size from run to run: take() in the same order takes the same blocks.
class Scratch {
public:
    template <class T> T* take(std::size_t count) { return static_cast<T*>(bytes(count * sizeof(T))); }
    std::size_t mark() const { return next_; }
    /// Gives back what was taken since mark().
    void release(std::size_t mark) { next_ = mark; }
    std::size_t block_size(std::size_t i) const { return i < blocks_.size() ? blocks_[i].size : 0; }
    /// Makes block `i` at least this large. Only while nothing is taken.
    void reserve(std::size_t i, std::size_t size);

private:
    struct Block {
        std::unique_ptr<std::byte[]> memory;
        std::size_t size = 0;
    };
    void* bytes(std::size_t size);

    std::vector<Block> blocks_;
    std::size_t next_ = 0;
};

/// The calling thread's scratch memory while it lives.
class LocalScratch {
public:
    LocalScratch();
    ~LocalScratch();
    LocalScratch(const LocalScratch&) = delete;
    LocalScratch& operator=(const LocalScratch&) = delete;

    template <class T> T* take(std::size_t count) {
        if (scratch_.block_size(scratch_.mark()) < count * sizeof(T)) note(scratch_.mark(), count * sizeof(T));
        return scratch_.take<T>(count);
    }
    /// Gives every host thread what any of them has needed, so that the next run of a program allocates nothing,
    /// whichever thread takes which part of it.
    static void spread();

private:
    /// A block is about to grow.
    static void note(std::size_t block, std::size_t size);

    Scratch& scratch_;
    std::size_t mark_;
};

class OpRun;

/// A tensor of the operation's replica.
class Operand {
public:
    Operand(const Regions& regions, OpRun& run) : regions_(&regions), run_(&run) {}

    std::size_t count() const { return regions_->count(); }
    poplar::Type type() const { return regions_->type(); }
    const Regions& regions() const { return *regions_; }

    // Elements [begin, begin + count), converted as a cast does. As 32 bits, integers are loaded with their bits.
    void load(std::size_t begin, std::size_t count, float* to) const;
    void load(std::size_t begin, std::size_t count, std::int32_t* to) const;
    /// Loads UNSIGNED_INT.
    void load(std::size_t begin, std::size_t count, std::uint32_t* to) const { load_bytes(begin, count, to); }
    /// Loads integers and BOOL.
    void load(std::size_t begin, std::size_t count, std::int64_t* to) const;
    /// Stores floats; the tile's rounding converts them to half.
    void store(std::size_t begin, std::size_t count, const float* from) const;
    void store(std::size_t begin, std::size_t count, const std::int32_t* from) const;
    void store(std::size_t begin, std::size_t count, const std::uint32_t* from) const {
        store(begin, count, reinterpret_cast<const std::int32_t*>(from));
    }
    void store(std::size_t begin, std::size_t count, const std::int64_t* from) const;
    void load_bytes(std::size_t begin, std::size_t count, void* to) const;
    void store_bytes(std::size_t begin, std::size_t count, const void* from) const;
    float scalar() const;
    std::int32_t integer(std::size_t i = 0) const;
    /// The tensor's memory if its elements follow each other, else null.
    std::byte* contiguous() const;

    // Throws application_runtime_error if reads are checked and an element was never written. For operations whose
    // HostOp has partial_reads or marks_writes.
    /// Throws application_runtime_error if an element was never written.
    void need_written(std::size_t begin, std::size_t count, const std::string& reader) const;
    /// Marks elements [begin, begin + count) as written where the elements of `from` are.
    void copy_marks(std::size_t begin, std::size_t count, const Operand& from, std::size_t source) const;

private:
    template <class Value> void load_as(std::size_t begin, std::size_t count, Value* to) const;
    template <class Value> void store_as(std::size_t begin, std::size_t count, const Value* from) const;

    const Regions* regions_;
    OpRun* run_;
};

/// The memory and state of one replica.
struct Replica {
    unsigned index = 0;
    std::vector<std::byte*> bases;                   // of all variables
    std::vector<std::uint32_t> seeds;                // [tile][worker][4]
    std::vector<Control> control;                    // of each tile
    std::vector<std::vector<std::uint8_t>> written;  // of each variable, if reads are checked
    const GraphData* graph = nullptr;
    Scratch scratch;

    /// Throws application_runtime_error if reads are checked and one of the elements was never written.
    void need_written(const Regions& regions, std::size_t begin, std::size_t count, const std::string& reader) const;
    void need_written(const Regions& regions, const std::string& reader) const {
        need_written(regions, 0, regions.count(), reader);
    }
    void mark(const Regions& regions, bool is_written);
    void copy_marks(const Regions& to, std::size_t begin, std::size_t count, const Regions& from, std::size_t source);
};

class OpRun {
public:
    OpRun(Replica& replica, std::span<const Regions> reads, std::span<const Regions> writes);

    unsigned replica() const { return replica_->index; }
    Operand read(std::size_t i) { return {reads_[i], *this}; }
    Operand write(std::size_t i = 0) { return {writes_[i], *this}; }
    Replica& state() { return *replica_; }
    Bases bases() const { return replica_->bases.data(); }

    /// The settings of the first result's tile, which the whole operation uses.
    const Control& control() const { return control_; }
    /// The key under which results on `tile` draw their random bits.
    std::uint64_t key(unsigned tile) const;
    /// Rounds values of elements [begin, begin + count) of `regions` to half as their tiles do. `salt`: distinguishes
    /// several roundings of an element.
    void round(const Regions& regions, std::size_t begin, std::size_t count, const float* from, std::uint16_t* to,
               std::uint64_t salt = 0);

    /// Memory for the whole operation.
    template <class T> T* scratch(std::size_t count) { return replica_->scratch.take<T>(count); }
    /// body(i) for each i below count, on several threads.
    template <class Body> void parallel(std::size_t count, Body&& body) {
        host_threads().run(count, [&](std::size_t i) {
            watch();
            body(i);
            note();
        });
    }
    /// body(begin, count) for pieces of at most `piece` elements of `total`.
    template <class Body> void in_pieces(std::size_t total, std::size_t piece, Body&& body) {
        parallel((total + piece - 1) / piece, [&](std::size_t i) {
            const std::size_t begin = i * piece;
            body(begin, std::min(piece, total - begin));
        });
    }

    void report(unsigned mishaps) { mishaps_.fetch_or(mishaps, std::memory_order_relaxed); }
    /// The mishaps that happened and that trap.
    unsigned trapped() const;

    // Clear and read the processor's exception flags of the calling thread, if anything traps.
    void watch() const;
    void note();

private:
    Replica* replica_;
    std::span<const Regions> reads_;
    std::span<const Regions> writes_;
    Control control_;
    std::atomic<unsigned> mishaps_{0};

public:
    OpRun(OpRun&& other) noexcept
        : replica_(other.replica_),
          reads_(other.reads_),
          writes_(other.writes_),
          control_(other.control_),
          mishaps_(other.mishaps_.load()) {}
};

}  // namespace ipu_emulator
