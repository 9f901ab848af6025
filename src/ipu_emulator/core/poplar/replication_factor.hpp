#pragma once

namespace poplar {

/// The number of replicas of a graph, as a type of its own so that it is never mistaken for another number.
class replication_factor {
public:
    explicit constexpr replication_factor(unsigned value) : value_(value) {}
    constexpr operator unsigned() const { return value_; }

private:
    unsigned value_;
};

}  // namespace poplar
