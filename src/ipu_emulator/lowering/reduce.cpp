#include <popops/Reduce.hpp>

#include <algorithm>

#include "ipu_emulator/lowering/combine.h"
#include "ipu_emulator/lowering/support.h"

namespace ipu_emulator {
namespace {

using popops::Operation;

/// Rows that one task combines: the same, however many threads there are, so that sums have one order.
std::size_t row_block(std::size_t rows, std::size_t columns) {
    constexpr std::size_t kMostBlocks = 64;
    constexpr std::size_t kLeastElements = 8192;
    const std::size_t by_count = (rows + kMostBlocks - 1) / kMostBlocks;
    const std::size_t by_size = columns == 0 ? 1 : (kLeastElements + columns - 1) / columns;
    return by_count > by_size ? by_count : by_size;
}

/// The operation that combines the totals of two blocks. Squares are taken only once.
Operation between_blocks(Operation op) {
    return op == Operation::SQUARE_ADD ? Operation::ADD : op;
}

/// The reduced rows come first ([rows][columns]) or last ([columns][rows]).
struct Layout {
    std::size_t rows = 0;
    std::size_t columns = 0;
    bool rows_first = true;
};

/// Combines columns [0, columns) of `count` rows from `first` on into totals.
template <class T, class Combine>
void combine_rows(OpRun& run, const Layout& layout, std::size_t first, std::size_t count, T* totals, Combine combine) {
    LocalScratch local;
    T* values = local.take<T>(kChunk);
    if (layout.rows_first && layout.columns <= kChunk) {
        const std::size_t at_once = kChunk / layout.columns;
        for (std::size_t row = first; row < first + count; row += at_once) {
            const std::size_t rows = std::min(at_once, first + count - row);
            run.read(0).load(row * layout.columns, rows * layout.columns, values);
            for (std::size_t r = 0; r < rows; ++r) {
                for (std::size_t i = 0; i < layout.columns; ++i)
                    totals[i] = combine(totals[i], values[r * layout.columns + i]);
            }
        }
        return;
    }
    if (layout.rows_first) {
        for (std::size_t begin = 0; begin < layout.columns; begin += kChunk) {
            const std::size_t n = std::min(kChunk, layout.columns - begin);
            for (std::size_t row = first; row < first + count; ++row) {
                run.read(0).load(row * layout.columns + begin, n, values);
                for (std::size_t i = 0; i < n; ++i)
                    totals[begin + i] = combine(totals[begin + i], values[i]);
            }
        }
        return;
    }
    for (std::size_t column = 0; column < layout.columns; ++column) {
        T total = totals[column];
        for (std::size_t begin = first; begin < first + count; begin += kChunk) {
            const std::size_t n = std::min(kChunk, first + count - begin);
            run.read(0).load(column * layout.rows + begin, n, values);
            for (std::size_t i = 0; i < n; ++i)
                total = combine(total, values[i]);
        }
        totals[column] = total;
    }
}

template <class T> void run_reduce(OpRun& run, const Layout& layout, Operation op) {
    T* totals = run.scratch<T>(layout.columns);
    const std::size_t block = row_block(layout.rows, layout.columns);
    const std::size_t blocks = (layout.rows + block - 1) / block;
    T* partials = run.scratch<T>(std::max<std::size_t>(blocks, 1) * layout.columns);
    with_combination<T>(op, [&](auto combine) {
        run.parallel(blocks, [&](std::size_t b) {
            T* own = partials + b * layout.columns;
            std::fill_n(own, layout.columns, neutral<T>(op));
            combine_rows(run, layout, b * block, std::min(block, layout.rows - b * block), own, combine);
        });
    });
    std::fill_n(totals, layout.columns, neutral<T>(op));
    with_combination<T>(between_blocks(op), [&](auto combine) {
        for (std::size_t b = 0; b < blocks; ++b) {
            for (std::size_t c = 0; c < layout.columns; ++c)
                totals[c] = combine(totals[c], partials[b * layout.columns + c]);
        }
    });
    run.write().store(0, layout.columns, totals);
}

}  // namespace
}  // namespace ipu_emulator

namespace popops {

using namespace ipu_emulator;
using poplar::Tensor;

Tensor reduce(poplar::Graph& graph, const Tensor& in, const poplar::Type& outType, const std::vector<std::size_t>& dims,
              ReduceParams params, poplar::program::Sequence& prog, const poplar::DebugContext& debugContext,
              const poplar::OptionFlags& options) {
    const std::string name = op_name(debugContext, "reduce");
    check_options("popops::reduce", options, {});
    std::vector<unsigned> kept;
    std::vector<unsigned> reduced;
    std::vector<std::size_t> shape;
    for (unsigned dim = 0; dim < in.rank(); ++dim) {
        const bool gone = std::ranges::count(dims, std::size_t{dim}) != 0;
        (gone ? reduced : kept).push_back(dim);
        if (!gone) shape.push_back(in.dim(dim));
    }
    for (const std::size_t dim : dims)
        require(dim < in.rank(), name, "the tensor " + in.shapeToString() + " has no dimension " + std::to_string(dim));
    const bool float_in = is_float(in.elementType());
    // Unsigned integers are loaded and stored with their bits.
    const bool unsigned_in = in.elementType() == poplar::UNSIGNED_INT;
    require(float_in == is_float(outType) && unsigned_in == (outType == poplar::UNSIGNED_INT), name,
            "cannot reduce " + in.elementType().toString() + " to " + outType.toString());
    Tensor out = new_tensor(graph, outType, shape, name);

    Layout layout{.rows = 1, .columns = out.numElements()};
    for (const unsigned dim : reduced)
        layout.rows *= in.dim(dim);
    // The dimension whose elements follow each other in memory is walked last.
    const std::vector<std::ptrdiff_t> strides = view_of(in).strides();
    layout.rows_first = layout.columns > 1;
    for (unsigned dim = 0; dim < strides.size(); ++dim)
        if (strides[dim] == 1) layout.rows_first = layout.columns > 1 && std::ranges::count(kept, dim) != 0;
    std::vector<unsigned> order = layout.rows_first ? reduced : kept;
    const std::vector<unsigned>& last = layout.rows_first ? kept : reduced;
    order.insert(order.end(), last.begin(), last.end());

    add_op(prog, {.name = name,
                  .reads = {in.dimShuffle(order)},
                  .writes = {out},
                  .run = [layout, op = params.op, float_in, unsigned_in](OpRun& run) {
                      if (float_in) {
                          run_reduce<float>(run, layout, op);
                      } else if (unsigned_in) {
                          run_reduce<std::uint32_t>(run, layout, op);
                      } else {
                          run_reduce<std::int32_t>(run, layout, op);
                      }
                  }});
    return out;
}

Tensor reduce(poplar::Graph& graph, const Tensor& in, const std::vector<std::size_t>& dims, ReduceParams params,
              poplar::program::Sequence& prog, const poplar::DebugContext& debugContext,
              const poplar::OptionFlags& options) {
    return reduce(graph, in, in.elementType(), dims, params, prog, debugContext, options);
}

}  // namespace popops
