#include "run/features/neighbours.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "run/features/linear_head.h"
#include "run/features/products.h"

namespace cnntrain::run {

namespace {

constexpr std::int64_t kBlock = 64;  // rows whose neighbours are sought at once
constexpr std::int64_t kTile = 256;  // rows with which they are compared at once

bool is_nearer(const Neighbour& a, const Neighbour& b) {
    return a.cosine != b.cosine ? a.cosine > b.cosine : a.row < b.row;
}

/// Keeps the nearest ones, as a heap whose first is the farthest.
void offer(std::vector<Neighbour>& kept, std::size_t count, const Neighbour& candidate) {
    if (kept.size() == count) {
        if (!is_nearer(candidate, kept.front())) return;
        std::ranges::pop_heap(kept, is_nearer);
        kept.pop_back();
    }
    kept.push_back(candidate);
    std::ranges::push_heap(kept, is_nearer);
}

}  // namespace

Directions::Directions(const FeatureRows& of) : mean(standardisation_of(of).mean) {}

void Directions::apply(FeatureRows& rows) const {
    for (std::int64_t r = 0; r < rows.count(); ++r) {
        float* const begin = rows.values.data() + r * rows.width;
        double squares = 0;
        for (std::int64_t k = 0; k < rows.width; ++k) {
            begin[k] -= mean[static_cast<std::size_t>(k)];
            squares += double{begin[k]} * begin[k];
        }
        if (squares == 0) continue;
        const auto factor = static_cast<float>(1 / std::sqrt(squares));
        std::for_each(begin, begin + rows.width, [&](float& value) { value *= factor; });
    }
}

std::vector<std::vector<Neighbour>> nearest(const FeatureRows& rows, const FeatureRows& among, std::size_t count,
                                            bool leave_out_itself, int threads) {
    std::vector<std::vector<Neighbour>> result(static_cast<std::size_t>(rows.count()));
    for_each_task((rows.count() + kBlock - 1) / kBlock, threads, [&](std::int64_t block) {
        const std::int64_t begin = block * kBlock;
        const std::int64_t end = std::min(begin + kBlock, rows.count());
        std::vector<float> cosines(static_cast<std::size_t>(kBlock * kTile));
        for (std::int64_t first = 0; first < among.count(); first += kTile) {
            const std::int64_t columns = std::min(kTile, among.count() - first);
            dot_rows(rows.row(begin), end - begin, among.row(first), columns, rows.width, cosines.data());
            for (std::int64_t r = begin; r < end; ++r) {
                for (std::int64_t c = 0; c < columns; ++c) {
                    if (leave_out_itself && first + c == r) continue;
                    offer(result[static_cast<std::size_t>(r)], count,
                          {first + c, cosines[static_cast<std::size_t>((r - begin) * columns + c)]});
                }
            }
        }
        for (std::int64_t r = begin; r < end; ++r)
            std::ranges::sort_heap(result[static_cast<std::size_t>(r)], is_nearer);
    });
    return result;
}

}  // namespace cnntrain::run
