#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include <poplar/StringRef.hpp>

namespace poplar {

/// Names and values of options. Each function that takes one refuses names that it does not know: invalid_option.
class OptionFlags {
public:
    using OptionFlag = std::pair<const std::string, std::string>;
    using iterator = std::map<std::string, std::string>::const_iterator;

    OptionFlags() = default;
    OptionFlags(std::initializer_list<OptionFlag> flags) {
        for (const auto& [name, value] : flags)
            set(name, value);
    }

    void set(StringRef name, StringRef value) { flags_[name.cloneAsString()] = value.cloneAsString(); }
    /// Throws std::out_of_range for a name that is not set.
    const std::string& at(StringRef name) const { return flags_.at(name.cloneAsString()); }
    iterator find(StringRef name) const { return flags_.find(name.cloneAsString()); }
    std::size_t size() const { return flags_.size(); }
    void clear() { flags_.clear(); }
    iterator begin() const { return flags_.begin(); }
    iterator end() const { return flags_.end(); }

    friend bool operator==(const OptionFlags&, const OptionFlags&) = default;
    friend bool operator<(const OptionFlags& a, const OptionFlags& b) { return a.flags_ < b.flags_; }

private:
    std::map<std::string, std::string> flags_;
};

}  // namespace poplar
