#pragma once

#include <string>
#include <string_view>

namespace poplar {

/// A view of characters that live elsewhere, used for arguments only.
class StringRef {
public:
    StringRef(const char* text) : text_(text) {}
    StringRef(const std::string& text) : text_(text) {}

    std::string cloneAsString() const { return std::string(text_); }
    operator std::string() const { return cloneAsString(); }
    const char* data() const { return text_.data(); }
    std::size_t size() const { return text_.size(); }

private:
    std::string_view text_;
};

}  // namespace poplar
