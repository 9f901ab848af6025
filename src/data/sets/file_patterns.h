// Lists of file name patterns, as given to options for data files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::data {

/// The file that says that this program generated a folder's photos.
inline constexpr std::string_view kGeneratedMark = ".generated";

/// "a, b" becomes {"a", "b"}. Blanks around parts and empty parts are dropped.
std::vector<std::string> split_list(const std::string& list);

/// True if the text has `*`, `?` or `[`.
bool has_wildcard(const std::string& pattern);

/// The files that match one pattern, which may have commas, as in matching_files().
std::vector<std::string> files_matching(const std::string& pattern);

/// The files that match the comma-separated patterns (`*`, `?`, `[...]` and `~` as in a shell), in the order of the
/// patterns, and sorted within each. Wildcards do not match folders, unfinished files, or files that this program
/// stores beside data (indexes, journals). Throws Error(data) for a pattern without a match, Error(usage) without a
/// pattern.
std::vector<std::string> matching_files(const std::string& patterns);

}  // namespace cnntrain::data
