// Parts of paths, as text: no file is looked for.
#pragma once

#include <string_view>

namespace cnntrain {

/// The part behind the last slash: "c" of "a/b/c", "" of "a/", all of a path without a slash. A view of `path`.
inline std::string_view last_part(std::string_view path) {
    return path.substr(path.find_last_of('/') + 1);  // npos + 1 is 0
}

}  // namespace cnntrain
