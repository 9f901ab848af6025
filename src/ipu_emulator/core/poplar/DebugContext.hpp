#pragma once

#include <string>

namespace poplar {

/// The name under which a variable or program appears in messages.
class DebugContext {
public:
    DebugContext() = default;
    DebugContext(const char* name) : name_(name) {}
    DebugContext(std::string name) : name_(std::move(name)) {}

    std::string getPathName() const { return name_; }

private:
    std::string name_;
};

}  // namespace poplar
