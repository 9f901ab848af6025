#include "dataset_tools/writing/shard_journal.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string_view>

#include "cnntrain/base/error.h"
#include "cnntrain/base/json_check.h"

namespace cnntrain::dataset_tools {
namespace {

using nlohmann::json;

constexpr std::string_view kJournal = "conversion.jsonl";
constexpr const char* kPlan = "plan";

/// File names may be invalid UTF-8; the journal must be valid.
std::string text_of(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string line_of(const Fingerprint& fingerprint) {
    json entries = json::array();
    for (const auto& [name, value] : fingerprint) {
        entries.push_back({name, value});
    }
    return text_of({{kPlan, entries}});
}

std::string line_of(const FinishedFile& file) {
    json skipped = json::array();
    for (const SkippedSource& source : file.skipped) {
        skipped.push_back({source.name, source.reason});
    }
    return text_of({{"file", file.name},
                    {"records", file.records},
                    {"bytes", file.bytes},
                    {"skipped", skipped},
                    {"notes", file.notes}});
}

std::string line_of(const std::string& list, const FileContent& content) {
    return text_of({{"list", list}, {"bytes", content.bytes}, {"crc32c", content.checksum}});
}

FinishedFile finished_file(const json& line) {
    FinishedFile file{line.at("file"), line.at("records"), line.at("bytes")};
    for (const json& source : line.at("skipped")) {
        file.skipped.push_back({source.at(0), source.at(1)});
    }
    line.at("notes").get_to(file.notes);
    return file;
}

void read_line(const json& line, Journal& journal) {
    if (line.contains("file")) {
        const FinishedFile file = finished_file(line);
        journal.finished[file.name] = file;
        return;
    }
    if (line.contains("list")) {
        journal.lists[line.at("list")].push_back({line.at("bytes"), line.at("crc32c")});
        return;
    }
    for (const json& entry : line.at(kPlan)) {
        journal.fingerprint.emplace_back(entry.at(0), entry.at(1));
    }
}

const std::string* find(const Fingerprint& fingerprint, const std::string& name) {
    const auto found =
        std::find_if(fingerprint.begin(), fingerprint.end(), [&](const auto& entry) { return entry.first == name; });
    return found == fingerprint.end() ? nullptr : &found->second;
}

}  // namespace

std::string journal_path(const std::string& folder) {
    return folder + "/" + std::string(kJournal);
}

std::optional<Journal> read_journal(const FileSystem& files, const std::string& path) {
    if (!exists(files, path)) return std::nullopt;
    Journal journal;
    std::istringstream lines(read_text(files, path));
    for (std::string line; std::getline(lines, line);) {
        try {
            check_json(line);
            read_line(json::parse(line), journal);
        } catch (const Error&) {
            continue;
        } catch (const json::exception&) {
            continue;
        }
    }
    return journal;
}

bool is_journal(const FileSystem& files, const std::string& path) {
    const std::string begin = "{\"" + std::string(kPlan) + "\":[[";  // as line_of() writes it
    const std::unique_ptr<InputFile> file = files.open(path);
    if (file->size_bytes() < begin.size()) return false;
    std::string found(begin.size(), '\0');
    file->read_at(0, std::as_writable_bytes(std::span(found)));
    return found == begin;
}

void write_journal(FileSystem& files, const std::string& path, const Fingerprint& fingerprint,
                   const std::vector<FinishedFile>& finished, const Lists& lists) {
    std::string text = line_of(fingerprint);
    for (const FinishedFile& file : finished) {
        text += line_of(file);
    }
    for (const auto& [list, contents] : lists) {
        for (const FileContent& content : contents)
            text += line_of(list, content);
    }
    write_text(files, path, text);
}

void append_to_journal(FileSystem& files, const std::string& path, const FinishedFile& file) {
    files.append(path, line_of(file));
}

void append_to_journal(FileSystem& files, const std::string& path, const std::string& list,
                       const FileContent& content) {
    files.append(path, line_of(list, content));
}

std::string differences(const Fingerprint& now, const Fingerprint& before) {
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    for (const auto& [name, value] : now) {
        const std::string* old = find(before, name);
        if (old == nullptr) {
            add(name + " is " + value + ", was not there");
        } else if (*old != value) {
            add(name + " is " + value + ", was " + *old);
        }
    }
    for (const auto& [name, value] : before) {
        if (find(now, name) == nullptr) add(name + " was " + value + ", is not there");
    }
    return text;
}

}  // namespace cnntrain::dataset_tools
