#pragma once

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poplar {

/// inv, div0, oflo: trap on invalid operations, on divisions by zero, on overflow (application_runtime_error).
/// esr: round stochastically to half. nanoo: overflow of half is NaN, else +-65504.
class FloatingPointBehaviour {
public:
    FloatingPointBehaviour(bool inv_, bool div0_, bool oflo_, bool esr_, bool nanoo_)
        : inv(inv_), div0(div0_), oflo(oflo_), esr(esr_), nanoo(nanoo_) {}

    bool inv;
    bool div0;
    bool oflo;
    bool esr;
    bool nanoo;
};

/// Sets the behaviour of all tiles of the graph.
void setFloatingPointBehaviour(Graph& graph, program::Sequence& prog, const FloatingPointBehaviour& behaviour,
                               const DebugContext& debugContext = {});
/// Clears the bits of `clear` and sets the bits of `set` on all tiles of the graph. Returns the behaviour before, to be
/// restored by setFloatingPointBehaviour(): UNSIGNED_INT [tiles].
Tensor getAndModifyFloatingPointBehaviour(Graph& graph, program::Sequence& prog, const FloatingPointBehaviour& clear,
                                          const FloatingPointBehaviour& set, const DebugContext& debugContext = {});
void setFloatingPointBehaviour(Graph& graph, program::Sequence& prog, const Tensor& behaviour,
                               const DebugContext& debugContext = {});
void setStochasticRounding(Graph& graph, program::Sequence& prog, bool enable, const DebugContext& debugContext = {});

}  // namespace poplar
