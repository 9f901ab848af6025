// Writes the files that transformers reads beside a model.safetensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"

namespace cnntrain::cli {

class HuggingFaceFolder {
public:
    /// `folder`: empty or with a slash at its end. `overwrite`: files with other contents may be replaced.
    HuggingFaceFolder(std::string folder, bool overwrite) : folder_(std::move(folder)), overwrite_(overwrite) {}

    void add(const std::string& name, std::string text) { texts_.insert_or_assign(name, std::move(text)); }
    /// Adds vocab.txt: the first `rows` lines of `file`. A file that the user has not `given` must be the one whose
    /// checksum the checkpoint records; without it, a note says so. Error(data) if the checkpoint records another one,
    /// or the given one is not readable.
    void add_vocabulary(const std::string& file, bool given, std::int64_t rows, const std::string& checkpoint);

    /// Adds tokenizer_config.json.
    void add_tokeniser(bool lower_case, bool splits_special_tokens);

    /// Throws Error(usage) like check_outputs(); `source`: the checkpoint that is read. A file that has its content
    /// already is neither checked nor written.
    void check(const std::string& source) const;
    /// Of the files that write() makes.
    std::vector<std::string> paths() const;
    void write(FileSystem& files) const;

    /// Messages for the user.
    const std::vector<std::string>& notes() const { return notes_; }

private:
    bool is_there(const FileSystem& files, const std::string& name, const std::string& text) const;

    std::string folder_;
    bool overwrite_;
    std::string vocabulary_;                    // that was read
    std::map<std::string, std::string> texts_;  // by name
    std::vector<std::string> notes_;
};

/// The file that `--to` names; for a folder, its model.safetensors.
std::string target_file(const std::string& to);

}  // namespace cnntrain::cli
