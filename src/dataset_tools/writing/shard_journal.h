// The journal of a conversion: the plan's fingerprint, then one line per finished file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/base/outputs.h"
#include "dataset_tools/writing/shard_writer.h"

namespace cnntrain::dataset_tools {

struct FinishedFile {
    std::string name;
    std::int64_t records = 0;
    std::uint64_t bytes = 0;
    std::vector<SkippedSource> skipped = {};
    std::map<std::string, std::int64_t> notes = {};
};

/// Contents that text files beside the shards had, by name. A killed job may have left any of them.
using Lists = std::map<std::string, std::vector<FileContent>>;

struct Journal {
    Fingerprint fingerprint;  // empty if its line cannot be parsed
    std::map<std::string, FinishedFile> finished;
    Lists lists;
};

/// <folder>/conversion.jsonl, for conversions that fill a folder.
std::string journal_path(const std::string& folder);

/// Empty if there is no journal. Lines that cannot be parsed (such as an incomplete last line after a kill) are
/// ignored, and their files are written again.
std::optional<Journal> read_journal(const FileSystem& files, const std::string& path);

/// True for a file that write_journal() wrote.
bool is_journal(const FileSystem& files, const std::string& path);

/// Replaces the journal atomically.
void write_journal(FileSystem& files, const std::string& path, const Fingerprint& fingerprint,
                   const std::vector<FinishedFile>& finished, const Lists& lists = {});

void append_to_journal(FileSystem& files, const std::string& path, const FinishedFile& file);
/// Called before a list is written, so that a killed job knows it again.
void append_to_journal(FileSystem& files, const std::string& path, const std::string& list, const FileContent& content);

/// For example "seed is 7, was 6; training files is 8, was 4".
std::string differences(const Fingerprint& now, const Fingerprint& before);

}  // namespace cnntrain::dataset_tools
