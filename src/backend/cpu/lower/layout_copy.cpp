#include "backend/cpu/lower/layout_copy.h"

#include <functional>
#include <optional>
#include <utility>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/tiles.h"

namespace cnntrain::cpu {

namespace {

using Run = std::function<void(const StepContext&)>;

template <typename From, typename To> Run panel_copy(const Panels& panels, const Placed& from, const Placed& to) {
    return [=](const StepContext&) { copy_to_panels(panels, from.as<From>(), to.as<To>()); };
}

Run cast_copy(const Placed& from, const Placed& to) {
    const auto count = static_cast<std::int64_t>(from.desc.get_size() / sizeof(float));
    return [=](const StepContext&) { cast(count, from.as<float>(), to.as<BFloat16>()); };
}

template <typename From> Run turned_right_copy(const Placed& from, const Placed& to) {
    return [=, dims = dims_of(from.desc)](const StepContext&) {
        copy_to_right_panels(RightPanels<From>{dims[0], dims[1], from.as<From>(), to.as<BFloat16>()});
    };
}

Run turned_left_copy(const Placed& from, const Placed& to) {
    return [=, dims = dims_of(from.desc)](const StepContext&) {
        copy_to_turned_left_panels(dims[0], dims[1], from.as<BFloat16>(), to.as<BFloat16>());
    };
}

/// True for a row-major matrix whose rows and columns are multiples of kTileBlock, on a processor that can copy it to
/// tiles.
bool is_whole_for_tiles(const Placed& from) {
    if (!has(TileUnit::dot_products) || !is_row_major_matrix(from.desc)) return false;
    const Dims dims = dims_of(from.desc);
    return dims[0] % kTileBlock == 0 && dims[1] % kTileBlock == 0;
}

/// The copy into a layout of tile products; empty for other layouts.
Run tile_copy(const Placed& from, const Placed& to) {
    if (to.dtype != DType::bf16 || !is_whole_for_tiles(from)) return {};
    const bool is_bf16 = from.dtype == DType::bf16;
    if (is_bf16 && to.desc == turned_left_tiles_desc(to.desc)) return turned_left_copy(from, to);
    if (to.desc != turned_right_tiles_desc(to.desc)) return {};
    return is_bf16 ? turned_right_copy<BFloat16>(from, to) : turned_right_copy<float>(from, to);
}

/// The copy by an own kernel; empty if none applies.
Run own_copy(const Placed& from, const Placed& to) {
    const bool narrows = from.dtype == DType::f32 && to.dtype == DType::bf16;
    if (narrows && is_row_major_matrix(from.desc) && is_row_major_matrix(to.desc)) return cast_copy(from, to);
    if (!is_row_major_matrix(from.desc)) return {};
    if (Run copy = tile_copy(from, to)) return copy;
    const std::optional<Panels> panels = panels_of(to.desc);
    if (!panels) return {};
    if (from.dtype == DType::bf16) return panel_copy<BFloat16, BFloat16>(*panels, from, to);
    if (narrows) return panel_copy<float, BFloat16>(*panels, from, to);
    return panel_copy<float, float>(*panels, from, to);
}

}  // namespace

void add_layout_copy(Program& program, Section section, Step step, const OneDnn& onednn, const Placed& from,
                     const Placed& to) {
    step.run = own_copy(from, to);
    if (!step.run) {
        program.add_primitive(section, std::move(step), onednn.reorder(from.desc, to.desc),
                              {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, {DNNL_ARG_TO});
        return;
    }
    step.reads = {from};
    step.writes = {to};
    program.add_step(section, std::move(step));
}

bool are_both_tiles(const Placed& from, const Placed& right, const Placed& turned) {
    return from.dtype == DType::f32 && right.dtype == DType::bf16 && is_whole_for_tiles(from) &&
           right.desc == right_tiles_desc(right.desc) && turned.desc == turned_right_tiles_desc(turned.desc);
}

RightPanels<float> both_tiles(const Placed& from, const Placed& right, const Placed& turned) {
    const Dims dims = dims_of(from.desc);
    return {dims[0], dims[1], from.as<float>(), turned.as<BFloat16>(), right.as<BFloat16>()};
}

void add_both_tiles_copy(Program& program, Section section, Step step, const Placed& from, const Placed& right,
                         const Placed& turned) {
    step.reads = {from};
    step.writes = {right, turned};
    step.run = [=](const StepContext&) { copy_to_right_panels(both_tiles(from, right, turned)); };
    program.add_step(section, std::move(step));
}

}  // namespace cnntrain::cpu
