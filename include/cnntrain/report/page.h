// The page of one run or several: one HTML file that needs nothing else.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/report/run_record.h"

namespace cnntrain::report {

struct PageSettings {
    std::string written;             // date and time
    std::string version;             // of the program that writes the page
    double reload_seconds = 0;       // the page loads itself again; 0: never
    std::size_t most_pictures = 32;  // fewer if the page would grow beyond kMostPageBytes
};

inline constexpr std::size_t kMostPageBytes = 2'000'000;

/// The page is about the first run; the others are compared with it. Error(usage) for more runs than have colours.
std::string page_of(const std::vector<RunRecord>& runs, const PageSettings& settings);
inline constexpr std::size_t kMostRuns = 6;

/// True for a page that this program has written and nobody has changed since. Pages of versions before checksums count
/// as unchanged.
bool is_page(const FileSystem& files, const std::string& path);

}  // namespace cnntrain::report
