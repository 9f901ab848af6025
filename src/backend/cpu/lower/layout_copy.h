// Steps that copy a tensor into another layout.
#pragma once

#include "backend/cpu/kernels/tiles.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/program/program.h"

namespace cnntrain::cpu {

/// `step` has its name; from and to are tensors of the same elements. Row-major matrices become panels by an own
/// kernel, two to five times as fast as by oneDNN's reorder, and bfloat16 by cast(); the reorder makes all other
/// copies.
void add_layout_copy(Program& program, Section section, Step step, const OneDnn& onednn, const Placed& from,
                     const Placed& to);

/// Are these the right tiles of a row-major f32 matrix and of its transpose? One step then makes both and reads the
/// matrix once.
bool are_both_tiles(const Placed& from, const Placed& right, const Placed& turned);
void add_both_tiles_copy(Program& program, Section section, Step step, const Placed& from, const Placed& right,
                         const Placed& turned);
/// Valid once the program is finished.
RightPanels<float> both_tiles(const Placed& from, const Placed& right, const Placed& turned);

}  // namespace cnntrain::cpu
