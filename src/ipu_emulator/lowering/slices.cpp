#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Encoding.hpp>
#include <popops/Fill.hpp>
#include <popops/Loop.hpp>

#include <algorithm>
#include <functional>
#include <numeric>

#include "ipu_emulator/lowering/support.h"

namespace ipu_emulator {
namespace {

/// t with the sliced dimensions first.
poplar::Tensor sliced_first(const poplar::Tensor& t, const std::vector<std::size_t>& dims) {
    std::vector<unsigned> order;
    order.reserve(t.rank());
    for (const std::size_t dim : dims)
        order.push_back(static_cast<unsigned>(dim));
    for (unsigned dim = 0; dim < t.rank(); ++dim)
        if (std::ranges::count(dims, std::size_t{dim}) == 0) order.push_back(dim);
    return t.dimShuffle(order);
}

/// Places of a slice's rows in a tensor whose sliced dimensions come first.
struct SliceRows {
    std::vector<std::size_t> extents;  // of the tensor
    std::vector<std::size_t> sizes;    // of the slice
    std::size_t row = 1;               // elements
    std::vector<std::size_t> shape;    // of the slice, its dimensions as the tensor has them

    std::size_t count() const {
        return std::accumulate(sizes.begin(), sizes.end(), std::size_t{1}, std::multiplies<>());
    }
    /// The tensor's row of row `i` of the slice. Beyond the end it goes on at the start.
    std::size_t source(std::size_t i, const Operand& offsets) const {
        std::size_t position = 0;
        std::size_t scale = 1;
        for (std::size_t d = sizes.size(); d-- > 0;) {
            const auto offset = static_cast<std::uint32_t>(offsets.integer(d));
            const std::size_t begin = offset < extents[d] ? offset : 0;
            position += (begin + i % sizes[d]) % extents[d] * scale;
            i /= sizes[d];
            scale *= extents[d];
        }
        return position;
    }
};

SliceRows slice_rows(const std::string& name, const poplar::Tensor& t, const poplar::Tensor& offset,
                     const std::vector<std::size_t>& dims, const std::vector<std::size_t>& sizes) {
    require(dims.size() == sizes.size() && offset.numElements() == dims.size(), name,
            "expected an offset and a size for each of the dimensions");
    require(offset.elementType() == poplar::UNSIGNED_INT, name, "offsets are unsigned integers");
    SliceRows rows{.extents = {}, .sizes = sizes, .shape = t.shape()};
    std::size_t sliced = 1;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        require(dims[i] < t.rank() && sizes[i] <= t.dim(static_cast<unsigned>(dims[i])), name,
                "the slice is larger than the tensor " + t.shapeToString());
        rows.extents.push_back(t.dim(static_cast<unsigned>(dims[i])));
        rows.shape[dims[i]] = sizes[i];
        sliced *= rows.extents.back();
    }
    rows.row = sliced == 0 ? 0 : t.numElements() / sliced;
    return rows;
}

/// Moves elements between two operands of one type; what was never written stays so.
void move(const Operand& from, std::size_t source, const Operand& to, std::size_t target, std::size_t count) {
    std::byte buffer[kChunk * 8];
    for (std::size_t i = 0; i < count; i += kChunk) {
        const std::size_t n = std::min(kChunk, count - i);
        from.load_bytes(source + i, n, buffer);
        to.store_bytes(target + i, n, buffer);
    }
    to.copy_marks(target, count, from, source);
}

void check_slice_options(const poplar::OptionFlags& options) {
    check_options("popops: slice options", options,
                  {"usedForSlice", "usedForUpdate", "operationForUpdate", "availableMemoryProportion",
                   "indicesDistribution", "indicesAreSorted", "partialType", "validateIndices"});
    bool_option(options, "usedForSlice", true);
    bool_option(options, "usedForUpdate", true);
    bool_option(options, "indicesAreSorted", false);
    bool_option(options, "validateIndices", false);
    choice_option(options, "operationForUpdate", {"add", "none", "max", "mul"});
    choice_option(options, "partialType", {"float", "half"});
    number_option(options, "availableMemoryProportion", 0.6);
}

/// [entries][width] and [n][1] indices, as embeddings have them.
void check_rows(const std::string& name, const poplar::Tensor& t, const poplar::Tensor& offsets,
                const std::vector<std::size_t>& dims, const std::vector<std::size_t>& sizes) {
    require(t.rank() == 2 && dims == std::vector<std::size_t>{0} && sizes == std::vector<std::size_t>{1}, name,
            "expected a tensor [entries][width] with slices of one row");
    require(offsets.rank() == 2 && offsets.dim(1) == 1 && offsets.elementType() == poplar::UNSIGNED_INT, name,
            "expected unsigned integers [n][1] as offsets, got " + offsets.shapeToString());
}

void check_slices(const std::string& name, const poplar::Tensor& t, const poplar::Tensor& s,
                  const poplar::Tensor& offsets) {
    const std::vector<std::size_t> shape{offsets.dim(0), 1, t.dim(1)};
    require(s.shape() == shape && s.elementType() == t.elementType(), name,
            "expected slices " + shape_text(shape) + " of the tensor's type, got " + s.shapeToString());
}

struct RowIndex {
    std::uint32_t row;
    std::uint32_t position;
};

/// Adds the slices of one row, beginning with order[first]; returns where the next row's begin.
void add_to_row(OpRun& run, const RowIndex* begin, const RowIndex* end, float scale, std::size_t width) {
    LocalScratch local;
    float* sum = local.take<float>(width);
    float* slice = local.take<float>(width);
    run.write().load(begin->row * width, width, sum);
    for (const RowIndex* index = begin; index != end; ++index) {
        run.read(0).load(index->position * width, width, slice);
        for (std::size_t i = 0; i < width; ++i)
            sum[i] += scale * slice[i];
    }
    run.write().store(begin->row * width, width, sum);
}

void run_update_add(OpRun& run, std::size_t entries, std::size_t width, const std::string& name) {
    const Operand offsets = run.read(1);
    const float scale = run.read(2).scalar();
    auto* order = run.scratch<RowIndex>(offsets.count());
    auto* starts = run.scratch<std::size_t>(offsets.count() + 1);
    std::size_t used = 0;
    for (std::size_t i = 0; i < offsets.count(); ++i) {
        const auto row = static_cast<std::uint32_t>(offsets.integer(i));
        if (row < entries) order[used++] = {row, static_cast<std::uint32_t>(i)};
    }
    std::sort(order, order + used, [](const RowIndex& a, const RowIndex& b) {
        return std::pair(a.row, a.position) < std::pair(b.row, b.position);
    });
    std::size_t rows = 0;
    for (std::size_t i = 0; i < used; ++i)
        if (i == 0 || order[i].row != order[i - 1].row) starts[rows++] = i;
    starts[rows] = used;
    run.parallel(rows, [&](std::size_t i) {
        run.write().need_written(order[starts[i]].row * width, width, name);
        add_to_row(run, order + starts[i], order + starts[i + 1], scale, width);
    });
}

}  // namespace
}  // namespace ipu_emulator

namespace popops {

using namespace ipu_emulator;
using poplar::Tensor;
using poplar::program::Sequence;

SlicePlan embedding::plan(const poplar::Graph&, const poplar::Type&, std::size_t, std::size_t,
                          const std::vector<std::size_t>&, const poplar::OptionFlags& options) {
    check_slice_options(options);
    return {};
}

Tensor createSliceableTensor(poplar::Graph& graph, const poplar::Type& type, const std::vector<std::size_t>& shape,
                             const std::vector<std::size_t>&, const std::vector<std::size_t>&, const SlicePlan&,
                             const poplar::OptionFlags& options, const poplar::DebugContext& debugContext) {
    check_slice_options(options);
    return new_tensor(graph, type, shape, op_name(debugContext, "sliceable"));
}

namespace {

/// Moves a slice out of the tensor, or with `update` into it. The other operand is the slice.
void add_dynamic(const std::string& name, const SliceRows& rows, const Tensor& offset, const Tensor& from,
                 const Tensor& to, const std::vector<std::size_t>& dims, bool update, Sequence& prog) {
    add_op(prog, {.name = name,
                  .reads = {offset.flatten()},
                  .partial_reads = {sliced_first(from, dims)},
                  .writes = {sliced_first(to, dims)},
                  .marks_writes = true,
                  .run = [rows, update](OpRun& run) {
                      run.parallel(rows.count(), [&](std::size_t i) {
                          const std::size_t in_slice = i * rows.row;
                          const std::size_t in_tensor = rows.source(i, run.read(0)) * rows.row;
                          move(run.read(1), update ? in_slice : in_tensor, run.write(), update ? in_tensor : in_slice,
                               rows.row);
                      });
                  }});
}

}  // namespace

Tensor dynamicSlice(poplar::Graph& graph, const Tensor& t, const Tensor& offset, const std::vector<std::size_t>& dims,
                    const std::vector<std::size_t>& sizes, Sequence& prog, const poplar::DebugContext& debugContext,
                    const poplar::OptionFlags& options) {
    const std::string name = op_name(debugContext, "dynamicSlice");
    check_slice_options(options);
    const SliceRows rows = slice_rows(name, t, offset, dims, sizes);
    Tensor out = new_tensor(graph, t.elementType(), rows.shape, name);
    add_dynamic(name, rows, offset, t, out, dims, false, prog);
    return out;
}

void dynamicUpdate(poplar::Graph&, const Tensor& t, const Tensor& s, const Tensor& offset,
                   const std::vector<std::size_t>& dims, const std::vector<std::size_t>& sizes, Sequence& prog,
                   const poplar::DebugContext& debugContext, const poplar::OptionFlags& options) {
    const std::string name = op_name(debugContext, "dynamicUpdate");
    check_slice_options(options);
    const SliceRows rows = slice_rows(name, t, offset, dims, sizes);
    require(s.shape() == rows.shape && s.elementType() == t.elementType(), name,
            "expected a slice " + shape_text(rows.shape) + " of the tensor's type, got " + s.shapeToString());
    add_dynamic(name, rows, offset, apart_from(t, s, prog, name), t, dims, true, prog);
}

Tensor multiSlice(poplar::Graph& graph, const Tensor& t, const Tensor& offsets, const std::vector<std::size_t>& dims,
                  const std::vector<std::size_t>& sizes, Sequence& prog, const SlicePlan&,
                  const poplar::OptionFlags& options, const poplar::DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "multiSlice");
    check_slice_options(options);
    check_rows(name, t, offsets, dims, sizes);
    const std::size_t entries = t.dim(0);
    const std::size_t width = t.dim(1);
    Tensor out = new_tensor(graph, t.elementType(), {offsets.dim(0), 1, width}, name);
    add_op(prog, {.name = name,
                  .reads = {offsets},
                  .partial_reads = {t},
                  .writes = {out},
                  .marks_writes = true,
                  .run = [=](OpRun& run) {
                      run.parallel(run.read(0).count(), [&](std::size_t i) {
                          const auto offset = static_cast<std::uint32_t>(run.read(0).integer(i));
                          move(run.read(1), (offset < entries ? offset : 0) * width, run.write(), i * width, width);
                      });
                  }});
    return out;
}

void multiUpdateAdd(poplar::Graph&, const Tensor& t, const Tensor& s, const Tensor& offsets, const Tensor& scale,
                    const std::vector<std::size_t>& dims, const std::vector<std::size_t>& sizes, Sequence& prog,
                    const SlicePlan&, const poplar::OptionFlags& options, const poplar::DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "multiUpdateAdd");
    check_slice_options(options);
    check_rows(name, t, offsets, dims, sizes);
    check_slices(name, t, s, offsets);
    require(is_float(t.elementType()) && is_float(scale.elementType()) && scale.numElements() == 1, name,
            "expected tensors of half or float, and a scalar as scale");
    const std::size_t entries = t.dim(0);
    const std::size_t width = t.dim(1);
    add_op(prog, {.name = name,
                  .reads = {s, offsets, scale},
                  .partial_reads = {t},
                  .writes = {t},
                  .marks_writes = true,
                  .run = [=](OpRun& run) { run_update_add(run, entries, width, name); }});
}

void iota(poplar::Graph&, const Tensor& t, unsigned startInteger, Sequence& prog,
          const poplar::DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "iota");
    require(t.elementType() == poplar::INT || t.elementType() == poplar::UNSIGNED_INT, name,
            "expected a tensor of int or unsigned int, got " + t.elementType().toString());
    add_op(prog, {.name = name, .reads = {}, .writes = {t}, .run = [startInteger](OpRun& run) {
                      for (std::size_t i = 0; i < run.write().count(); ++i) {
                          const auto value = static_cast<std::int32_t>(startInteger + i);
                          run.write().store(i, 1, &value);
                      }
                  }});
}

Sequence countedForLoop(poplar::Graph& graph, int initialCount, const Tensor& countLimit, int countStep,
                        const poplar::Program& body, const poplar::DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "countedForLoop");
    require(countStep != 0, name, "there is no step of 0");
    require(!is_float(countLimit.elementType()), name, "the counter and its limit are integers of one type");
    const Tensor count = new_tensor(graph, countLimit.elementType(), {}, name);
    Sequence loop;
    fill(graph, count, loop, initialCount, debugContext);
    const Tensor again = new_tensor(graph, poplar::BOOL, {}, name);
    Sequence condition;
    const auto compare = countStep > 0 ? expr::BinaryOpType::LESS_THAN : expr::BinaryOpType::GREATER_THAN;
    mapWithOutput(graph, expr::BinaryOp(compare, expr::_1, expr::_2), {count, countLimit.reshape({})}, again, condition,
                  debugContext);
    Sequence round({body});
    mapInPlace(graph, expr::_1 + countStep, {count}, round, debugContext);
    loop.add(poplar::program::RepeatWhileTrue(condition, again, round, debugContext));
    return loop;
}

}  // namespace popops
