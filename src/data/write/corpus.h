// The tokenised documents of text files: one sentence (or other segment) per line, blank lines between documents.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "data/text/tokeniser.h"

namespace cnntrain::data {

/// The segments of all documents, and their tokens. Each segment has at least one token, each document at least one
/// segment.
class Corpus {
public:
    using Segment = std::span<const TokenId>;

    std::size_t documents() const { return first_segments_.size() - 1; }
    std::size_t segments() const { return segments_.size(); }
    /// A document has the segments from first_segment() up to, but excluding, end_segment().
    std::size_t first_segment(std::size_t document) const { return first_segments_[document]; }
    std::size_t end_segment(std::size_t document) const { return first_segments_[document + 1]; }
    Segment segment(std::size_t number) const { return segments_[number]; }
    std::uint64_t tokens() const { return tokens_; }
    /// Number of occurrences of this token.
    std::uint64_t count(TokenId token) const;

    /// Consecutive lines of a file.
    struct Lines {
        std::vector<TokenId> tokens;
        std::vector<std::uint32_t> lengths;  // number of tokens in each segment; 0: a blank line
    };
    /// Appends lines. A document continues until a blank line, also across the end of a file.
    void add(Lines lines);

private:
    std::vector<std::vector<TokenId>> storage_;
    std::vector<Segment> segments_;
    std::vector<std::size_t> first_segments_ = {0};  // of each document, then the number of segments
    bool document_open_ = false;
    std::uint64_t tokens_ = 0;
};

struct CorpusSettings {
    std::vector<std::string> files;
    bool lower_case = false;
    int threads = 1;
    // These may be called from any thread, but not concurrently.
    std::function<bool()> stop_requested = {};
    /// Called at intervals with the bytes done and the total bytes.
    std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress = {};
};

/// Reads and tokenises the files in order. The corpus does not depend on the number of threads. Lines end at line feeds
/// only. Memory in addition to the tokens is bounded, also for a line as long as its file. Throws Error(data) naming a
/// file that cannot be read or has 16 MB without a blank, and Interrupted if a stop is requested.
Corpus read_corpus(const FileSystem& files, const Vocabulary& vocabulary, const CorpusSettings& settings);

}  // namespace cnntrain::data
