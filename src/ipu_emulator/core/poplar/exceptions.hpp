#pragma once

#include <stdexcept>

namespace poplar {

struct poplar_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct invalid_option : poplar_error {
    using poplar_error::poplar_error;
};
/// An element that is on no tile, on two, or on a tile that the target does not have.
struct invalid_tile_mapping : poplar_error {
    using poplar_error::poplar_error;
};
/// A program that cannot be built from these parts: wrong shapes, another graph's tensors, a sequence that grew late.
struct control_program_error : poplar_error {
    using poplar_error::poplar_error;
};
/// A write to a constant, or to a view in which an element occurs twice.
struct graph_connection_error : poplar_error {
    using poplar_error::poplar_error;
};
struct graph_recursion_error : poplar_error {
    using poplar_error::poplar_error;
};
/// A device that has too few IPUs for the replicas of a graph, or a count that replicas do not divide.
struct graph_replication_error : poplar_error {
    using poplar_error::poplar_error;
};
struct graph_object_creation_error : poplar_error {
    using poplar_error::poplar_error;
};
struct tensor_creation_error : poplar_error {
    using poplar_error::poplar_error;
};
/// A host write to or read from a tensor that was not made for it.
struct tensor_io_state_error : poplar_error {
    using poplar_error::poplar_error;
};
struct stream_connection_error : poplar_error {
    using poplar_error::poplar_error;
};
struct index_error : poplar_error {
    using poplar_error::poplar_error;
};
struct type_error : poplar_error {
    using poplar_error::poplar_error;
};
struct runtime_error : poplar_error {
    using poplar_error::poplar_error;
};
/// A mistake of the program that shows when it runs: a trap, replicas that disagree, an index out of range.
struct application_runtime_error : runtime_error {
    using runtime_error::runtime_error;
};

}  // namespace poplar
