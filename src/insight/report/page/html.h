// Text of an HTML page that is XML at the same time. This is the only place where text becomes markup: everything
// except literals of this program's source is escaped.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::report {

/// Text that is part of the source: nothing else converts to it.
class Literal {
public:
    template <std::size_t N> consteval Literal(const char (&text)[N]) : text_(text, N - 1) {}
    constexpr std::string_view view() const { return text_; }

private:
    std::string_view text_;
};

struct Attribute {
    Literal name;
    std::string value;
};

class Html {
public:
    /// Begins an element; close() ends the innermost one.
    Html& open(Literal tag, const std::vector<Attribute>& attributes = {});
    Html& close();
    /// An element that holds text only.
    Html& leaf(Literal tag, std::string_view text, const std::vector<Attribute>& attributes = {});
    /// An element without content, such as img or line.
    Html& empty(Literal tag, const std::vector<Attribute>& attributes = {});
    Html& text(std::string_view text);
    /// Markup, styles and scripts of this program.
    Html& literal(Literal markup);
    /// Adds the text of another builder.
    Html& add(const Html& part);

    /// Error(internal) if an element is not closed.
    const std::string& finished() const;

private:
    void begin(Literal tag, const std::vector<Attribute>& attributes);

    std::string text_;
    std::vector<std::string_view> open_;
};

/// Text as content of an element or of a quoted attribute. Control characters, characters that change the direction of
/// text, and bytes that are no UTF-8 become visible: \x1b, \u202e.
std::string escaped(std::string_view text);

}  // namespace cnntrain::report
