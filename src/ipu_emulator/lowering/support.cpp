#include "ipu_emulator/lowering/support.h"

#include <poplin/codelets.hpp>
#include <popnn/codelets.hpp>
#include <popops/codelets.hpp>
#include <poprand/codelets.hpp>
#include <poputil/exceptions.hpp>

namespace ipu_emulator {

void require(bool good, const std::string& function, const std::string& what) {
    if (!good) throw poputil::poplibs_error(function + ": " + what);
}

std::string op_name(const poplar::DebugContext& debugContext, const std::string& function) {
    const std::string name = debugContext.getPathName();
    return name.empty() ? function : name + "/" + function;
}

poplar::Tensor broadcast_to(const poplar::Tensor& t, const std::vector<std::size_t>& shape,
                            const std::string& function) {
    if (t.shape() == shape) return t;
    const auto wrong = "the shape " + t.shapeToString() + " cannot be broadcast to " + shape_text(shape);
    require(t.rank() <= shape.size(), function, wrong);
    const std::size_t added = shape.size() - t.rank();
    poplar::Tensor result = t.expand(std::vector<std::size_t>(added, 0));
    for (unsigned dim = 0; dim < shape.size(); ++dim) {
        if (result.dim(dim) == shape[dim]) continue;
        require(result.dim(dim) == 1, function, wrong);
        result = result.broadcast(static_cast<unsigned>(shape[dim]), dim);
    }
    return result;
}

bool is_float(poplar::Type type) {
    return type.isFloatingPoint();
}

poplar::Tensor channels_last(const poplar::Tensor& t) {
    return t.rank() < 3 ? t : t.dimRoll(1, static_cast<unsigned>(t.rank()) - 1);
}

poplar::Tensor channels_second(const poplar::Tensor& t) {
    return t.rank() < 3 ? t : t.dimRoll(static_cast<unsigned>(t.rank()) - 1, 1);
}

poplar::Tensor new_activations(poplar::Graph& graph, poplar::Type type, const std::vector<std::size_t>& shape,
                               const std::string& name) {
    std::vector<std::size_t> last = shape;
    if (last.size() > 2) {
        last.erase(last.begin() + 1);
        last.push_back(shape[1]);
    }
    return channels_second(new_tensor(graph, type, last, name));
}

const float* load_all(OpRun& run, const Operand& operand) {
    if (operand.type() == poplar::FLOAT && operand.contiguous() != nullptr)
        return reinterpret_cast<const float*>(operand.contiguous());
    auto* values = run.scratch<float>(operand.count());
    run.in_pieces(operand.count(), 16 * kChunk,
                  [&](std::size_t begin, std::size_t count) { operand.load(begin, count, values + begin); });
    return values;
}

}  // namespace ipu_emulator

// The emulator has no codelets.
namespace popops {
void addCodelets(poplar::Graph&) {}
}  // namespace popops
namespace poplin {
void addCodelets(poplar::Graph&) {}
}  // namespace poplin
namespace popnn {
void addCodelets(poplar::Graph&) {}
}  // namespace popnn
namespace poprand {
void addCodelets(poplar::Graph&) {}
}  // namespace poprand
