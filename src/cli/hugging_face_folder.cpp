#include "cli/hugging_face_folder.h"

#include <algorithm>

#include "cnntrain/base/error.h"
#include "cnntrain/base/outputs.h"
#include "cnntrain/train/loading.h"

namespace cnntrain::cli {

void HuggingFaceFolder::add_vocabulary(const std::string& file, bool given, std::int64_t rows,
                                       const std::string& checkpoint) {
    const bool is_there = !file.empty() && (given || exists(posix_files(), file));
    // A run's folder may come from somebody else: a file that only its arguments.json names is not copied.
    const bool is_of_run = is_there && train::is_vocabulary_of(posix_files(), checkpoint, file);
    if (!is_of_run && !given) {
        notes_.emplace_back("No vocab.txt was written: the vocabulary is not known; --vocab-file FILE copies it");
        return;
    }
    vocabulary_ = file;
    std::string text = read_text(posix_files(), file);
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    const std::int64_t words = std::ranges::count(text, '\n');
    if (words > rows) {
        std::size_t end = 0;
        for (std::int64_t i = 0; i < rows; ++i)
            end = text.find('\n', end) + 1;
        text.resize(end);
        notes_.push_back("vocab.txt has the first " + std::to_string(rows) + " of " + std::to_string(words) +
                         " words, as many as the table of words has rows");
    }
    add("vocab.txt", std::move(text));
}

void HuggingFaceFolder::add_tokeniser(bool lower_case, bool splits_special_tokens) {
    add("tokenizer_config.json", std::string("{\n  \"do_lower_case\": ") + (lower_case ? "true" : "false") +
                                     (splits_special_tokens ? ",\n  \"split_special_tokens\": true" : "") +
                                     ",\n  \"tokenizer_class\": \"BertTokenizer\"\n}\n");
}

bool HuggingFaceFolder::is_there(const FileSystem& files, const std::string& name, const std::string& text) const {
    const std::string path = folder_ + name;
    return files.kind(path) == FileKind::file && read_text(files, path) == text;
}

void HuggingFaceFolder::check(const std::string& source) const {
    std::vector<Output> outputs;
    for (const auto& [name, text] : texts_) {
        if (!is_there(posix_files(), name, text))
            outputs.push_back({{"--to:", folder_ + name}, overwrite_, "--overwrite"});
    }
    std::vector<NamedPath> inputs = {{"--from", source}};
    if (!vocabulary_.empty()) inputs.push_back({"--vocab-file", vocabulary_});
    check_outputs(posix_files(), outputs, inputs);
}

std::vector<std::string> HuggingFaceFolder::paths() const {
    std::vector<std::string> paths;
    for (const auto& [name, text] : texts_)
        if (!is_there(posix_files(), name, text)) paths.push_back(folder_ + name);
    return paths;
}

void HuggingFaceFolder::write(FileSystem& files) const {
    for (const auto& [name, text] : texts_)
        if (!is_there(files, name, text)) write_text(files, folder_ + name, text);
}

std::string target_file(const std::string& to) {
    if (!to.ends_with('/') && !is_directory(posix_files(), to)) return to;
    return to + (to.ends_with('/') ? "" : "/") + "model.safetensors";
}

}  // namespace cnntrain::cli
