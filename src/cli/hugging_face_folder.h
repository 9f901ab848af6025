// Writes the files that transformers reads beside a model.safetensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cnntrain::cli {

class HuggingFaceFolder {
public:
    /// `folder`: empty or with a slash at its end.
    explicit HuggingFaceFolder(std::string folder) : folder_(std::move(folder)) {}

    void add(const std::string& name, std::string text) { texts_.insert_or_assign(name, std::move(text)); }
    /// Adds vocab.txt: the first `rows` lines of `file`. Without a file (an empty name, or a file that the run named
    /// and that has gone) a note says so. Error(data) if `given`, by the user, and not readable.
    void add_vocabulary(const std::string& file, bool given, std::int64_t rows);

    /// Adds tokenizer_config.json.
    void add_tokeniser(bool lower_case);

    /// Error(usage) if the folder has one of the added files with another content.
    void check() const;
    void write() const;

    /// Messages for the user.
    const std::vector<std::string>& notes() const { return notes_; }

private:
    std::string folder_;
    std::map<std::string, std::string> texts_;  // by name
    std::vector<std::string> notes_;
};

/// The file that `--to` names; for a folder, its model.safetensors.
std::string target_file(const std::string& to);

}  // namespace cnntrain::cli
