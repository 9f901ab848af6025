// Lists of file-name patterns, as the options of data files have them.
#pragma once

#include <string>
#include <vector>

namespace cnntrain::data {

/// "a, b" -> {"a", "b"}; blanks around the parts and empty parts are left out.
std::vector<std::string> split_list(const std::string& list);

/// The files that the comma-separated patterns (`*`, `?`, `[...]` and `~` as in a shell) name: pattern by pattern,
/// those of one pattern sorted. Folders, unfinished files and what this program keeps beside data (indexes, journals)
/// fit no wildcard. Error(data) for a pattern that no file fits, Error(usage) when there is no pattern.
std::vector<std::string> matching_files(const std::string& patterns);

}  // namespace cnntrain::data
