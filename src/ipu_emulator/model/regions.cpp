#include "ipu_emulator/model/regions.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "ipu_emulator/model/graph_data.h"

namespace ipu_emulator {
namespace {

template <class T> void gather_run(const T* base, std::size_t offset, std::ptrdiff_t stride, std::size_t count, T* to) {
    if (stride == 1) {
        std::memcpy(to, base + offset, count * sizeof(T));
    } else if (stride == 0) {
        std::fill_n(to, count, base[offset]);
    } else {
        const T* from = base + offset;
        for (std::size_t i = 0; i < count; ++i)
            to[i] = from[static_cast<std::ptrdiff_t>(i) * stride];
    }
}

template <class T>
void scatter_run(T* base, std::size_t offset, std::ptrdiff_t stride, std::size_t count, const T* from) {
    if (stride == 1) {
        std::memcpy(base + offset, from, count * sizeof(T));
    } else {
        T* to = base + offset;
        for (std::size_t i = 0; i < count; ++i)
            to[static_cast<std::ptrdiff_t>(i) * stride] = from[i];
    }
}

/// Calls f with a word of `size` bytes.
template <class F> void with_size(std::size_t size, F f) {
    switch (size) {
        case 1:
            return f(std::uint8_t{});
        case 2:
            return f(std::uint16_t{});
        case 4:
            return f(std::uint32_t{});
        default:
            return f(std::uint64_t{});
    }
}

}  // namespace

Regions::Regions(const GraphData& graph, const TensorData& tensor)
    : type_(tensor.type),
      size_(type_size(tensor.type)),
      count_(tensor.view.elements()),
      contiguous_(tensor.view.contiguous()),
      spans_(graph.spans(tensor.view)) {
    const View& view = tensor.view;
    if (view.strided() && count_ != 0) {
        loops_ = view.loops();
        if (loops_.empty()) loops_.push_back({1, 1});
        variable_ = view.variable();
        offset_ = view.offset();
    }
    if (loops_.empty() || loops_.size() > kMostLoops) {
        loops_.clear();
        runs_ = view.runs();
        std::size_t start = 0;
        for (const Run& run : runs_) {
            starts_.push_back(start);
            start += run.count;
        }
        if (!runs_.empty()) {
            variable_ = runs_.front().variable;
            offset_ = runs_.front().offset;
        }
    }
}

const TileSpan& Regions::span_of(std::size_t element) const {
    const auto span = std::upper_bound(spans_.begin(), spans_.end(), element,
                                       [](std::size_t e, const TileSpan& s) { return e < s.end; });
    return span != spans_.end() ? *span : spans_.back();
}

template <class Visit> void Regions::walk(std::size_t begin, std::size_t count, Visit visit) const {
    if (count == 0) return;
    if (loops_.empty()) {
        auto i =
            static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), begin) - starts_.begin() - 1);
        for (; count != 0; ++i) {
            const Run& run = runs_[i];
            const std::size_t from = begin - starts_[i];
            const std::size_t n = std::min(run.count - from, count);
            visit(run.variable, run.at(from), run.stride, n);
            begin += n;
            count -= n;
        }
        return;
    }
    std::array<std::size_t, kMostLoops> index{};
    std::size_t offset = offset_;
    for (std::size_t i = loops_.size(); i-- > 0;) {
        index[i] = begin % loops_[i].extent;
        begin /= loops_[i].extent;
        offset = moved(offset, index[i], loops_[i].stride);
    }
    const std::size_t last = loops_.size() - 1;
    const Loop innermost = loops_[last];
    while (true) {
        const std::size_t n = std::min(innermost.extent - index[last], count);
        visit(variable_, offset, innermost.stride, n);
        count -= n;
        if (count == 0) return;
        offset = moved(offset, index[last], -innermost.stride);
        index[last] = 0;
        for (std::size_t i = last; i-- > 0;) {
            offset = moved(offset, 1, loops_[i].stride);
            if (++index[i] < loops_[i].extent) break;
            offset = moved(offset, loops_[i].extent, -loops_[i].stride);
            index[i] = 0;
        }
    }
}

void Regions::gather(Bases bases, std::size_t begin, std::size_t count, void* to) const {
    with_size(size_, [&](auto word) {
        using T = decltype(word);
        T* next = static_cast<T*>(to);
        walk(begin, count, [&](std::uint32_t variable, std::size_t offset, std::ptrdiff_t stride, std::size_t n) {
            gather_run(reinterpret_cast<const T*>(bases[variable]), offset, stride, n, next);
            next += n;
        });
    });
}

void Regions::scatter(Bases bases, std::size_t begin, std::size_t count, const void* from) const {
    with_size(size_, [&](auto word) {
        using T = decltype(word);
        const T* next = static_cast<const T*>(from);
        walk(begin, count, [&](std::uint32_t variable, std::size_t offset, std::ptrdiff_t stride, std::size_t n) {
            scatter_run(reinterpret_cast<T*>(bases[variable]), offset, stride, n, next);
            next += n;
        });
    });
}

void Regions::for_each(std::size_t begin, std::size_t count,
                       const std::function<void(std::uint32_t, std::size_t)>& visit) const {
    walk(begin, count, [&](std::uint32_t variable, std::size_t offset, std::ptrdiff_t stride, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i)
            visit(variable, moved(offset, i, stride));
    });
}

std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> Regions::extents() const {
    std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> result;
    const auto include = [&](std::uint32_t variable, std::size_t low, std::size_t high) {
        const auto [at, fresh] = result.try_emplace(variable, low, high);
        if (!fresh) at->second = {std::min(at->second.first, low), std::max(at->second.second, high)};
    };
    for (const Run& run : runs_) {
        const std::size_t end = run.at(run.count - 1);
        include(run.variable, std::min(run.offset, end), std::max(run.offset, end));
    }
    if (!loops_.empty()) {
        std::size_t low = offset_;
        std::size_t high = offset_;
        for (const Loop& loop : loops_) {
            if (loop.stride < 0) low = moved(low, loop.extent - 1, loop.stride);
            if (loop.stride > 0) high = moved(high, loop.extent - 1, loop.stride);
        }
        include(variable_, low, high);
    }
    return result;
}

bool Regions::may_overlap(const Regions& other) const {
    const auto theirs = other.extents();
    for (const auto& [variable, range] : extents()) {
        const auto at = theirs.find(variable);
        if (at == theirs.end()) continue;
        if (range.first <= at->second.second && at->second.first <= range.second) return true;
    }
    return false;
}

namespace {

constexpr std::size_t kLeastBytes = 128;
constexpr std::size_t kGrainBytes = 8;

}  // namespace

void map_linearly(poplar::Graph& graph, const poplar::Tensor& t) {
    const std::size_t count = t.numElements();
    const std::size_t tiles = Access::tiles(graph).size();
    const std::size_t grain = kGrainBytes / type_size(t.elementType());
    const std::size_t grains = (count + grain - 1) / grain;
    const std::size_t per_tile = grain * std::max((grains + tiles - 1) / tiles, kLeastBytes / kGrainBytes);
    poplar::Graph::TileToTensorMapping mapping;
    for (std::size_t begin = 0; begin < count; begin += per_tile)
        mapping.push_back({{begin, std::min(begin + per_tile, count)}});
    graph.setTileMapping(t, mapping);
}

poplar::Tensor new_tensor(poplar::Graph& graph, poplar::Type type, poplar::ArrayRef<std::size_t> shape,
                          const std::string& name) {
    poplar::Tensor t = graph.addVariable(type, shape, name);
    map_linearly(graph, t);
    return t;
}

poplar::Tensor like(poplar::Graph& graph, poplar::Type type, const poplar::Tensor& t, const std::string& name) {
    Variable variable;
    variable.name = name;
    variable.type = type;
    variable.elements = t.numElements();
    GraphData& data = Access::data(graph);
    const std::uint32_t id = data.add(std::move(variable));
    return make_tensor(data, type, view_of(t).dense(id));
}

poplar::Tensor new_tensor_like(poplar::Graph& graph, poplar::Type type, const poplar::Tensor& t,
                               const std::string& name) {
    poplar::Tensor result = like(graph, type, t, name);
    GraphData& data = Access::data(graph);
    const std::vector<TileSpan> spans = data.spans(view_of(t));
    std::size_t mapped = 0;
    bool here = true;
    for (const TileSpan& span : spans) {
        mapped += span.end - span.begin;
        here = here && std::ranges::find(Access::tiles(graph), span.tile) != Access::tiles(graph).end();
    }
    const bool spread = spans.size() > 1 || !t.containsAliases();  // a broadcast scalar would all be on one tile
    if (mapped == t.numElements() && here && spread) {
        data.map(view_of(result), spans);
    } else {
        map_linearly(graph, result);
    }
    return result;
}

}  // namespace ipu_emulator
