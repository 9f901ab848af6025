// The attributes of a node as text: "stride 2, padding 1/2/3/4, bias".
#pragma once

#include <sstream>
#include <string>
#include <string_view>

#include "cnntrain/graph/op.h"

namespace cnntrain::graph {

/// Collects items, leaving out what has its usual value.
class AttrText {
public:
    template <typename T> void item(std::string_view key, const T& value, const T& usual = {}) {
        if (value == usual) return;
        text_ << separator() << key << " " << value;
    }
    void flag(std::string_view key, bool value) {
        if (value) text_ << separator() << key;
    }
    void type(std::string_view key, DType type) { item(key, name(type)); }
    void shape(std::string_view key, const Shape& shape) {
        if (!shape.empty()) item(key, to_string(shape));
    }
    void activation(Activation activation) { flag(name(activation), activation != Activation::none); }
    void padding(const Padding& p) {
        if (p == Padding{}) return;
        std::ostringstream sides;
        sides << p.top << "/" << p.bottom << "/" << p.left << "/" << p.right;
        item("padding", sides.str());
    }
    std::string str() const { return text_.str(); }

private:
    std::string_view separator() const { return text_.view().empty() ? "" : ", "; }

    std::ostringstream text_;
};

}  // namespace cnntrain::graph
