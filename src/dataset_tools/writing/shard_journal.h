// The journal of a conversion: what was planned, then a line for each file that is finished.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "dataset_tools/writing/shard_writer.h"

namespace cnntrain::dataset_tools {

struct FinishedFile {
    std::string name;
    std::int64_t records = 0;
    std::uint64_t bytes = 0;
    std::vector<SkippedSource> skipped = {};
    std::map<std::string, std::int64_t> notes = {};
};

struct Journal {
    Fingerprint fingerprint;  // empty if its line cannot be read
    std::map<std::string, FinishedFile> finished;
};

/// <folder>/conversion.jsonl, of the conversions that fill a folder.
std::string journal_path(const std::string& folder);

/// Nothing if there is no journal. Lines that cannot be read (the last one, cut by a kill) count for nothing: their
/// files are made anew.
std::optional<Journal> read_journal(const FileSystem& files, const std::string& path);

/// Replaces the journal in one step.
void write_journal(FileSystem& files, const std::string& path, const Fingerprint& fingerprint,
                   const std::vector<FinishedFile>& finished);

void append_to_journal(FileSystem& files, const std::string& path, const FinishedFile& file);

/// "seed is 7, was 6; training files is 8, was 4"
std::string differences(const Fingerprint& now, const Fingerprint& before);

}  // namespace cnntrain::dataset_tools
