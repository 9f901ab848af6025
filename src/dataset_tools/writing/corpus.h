// The documents of text files as tokens: one sentence (or other segment) in each line, blank lines between documents.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "data/text/vocabulary.h"

namespace cnntrain::dataset_tools {

/// The segments of all documents, one after the other, and the tokens that they are made of. Segments have one token at
/// least, and documents one segment.
class Corpus {
public:
    using Segment = std::span<const data::TokenId>;

    std::size_t documents() const { return first_segments_.size() - 1; }
    std::size_t segments() const { return segments_.size(); }
    /// The numbers of a document's segments: from the first up to, and without, the second.
    std::size_t first_segment(std::size_t document) const { return first_segments_[document]; }
    std::size_t end_segment(std::size_t document) const { return first_segments_[document + 1]; }
    Segment segment(std::size_t number) const { return segments_[number]; }
    std::uint64_t tokens() const { return tokens_; }
    /// How many of the tokens are this one.
    std::uint64_t count(data::TokenId token) const;

    /// Lines that follow each other in a file.
    struct Lines {
        std::vector<data::TokenId> tokens;
        std::vector<std::uint32_t> lengths;  // of the segments; 0: a blank line
    };
    /// Behind what was added before; a document goes on until a blank line, also over the end of a file.
    void add(Lines lines);

private:
    std::vector<std::vector<data::TokenId>> storage_;
    std::vector<Segment> segments_;
    std::vector<std::size_t> first_segments_ = {0};  // of each document, and at the end their number
    bool document_open_ = false;
    std::uint64_t tokens_ = 0;
};

struct CorpusSettings {
    std::vector<std::string> files;
    bool lower_case = false;
    int threads = 1;
    // Each called from any thread, one call at a time.
    std::function<bool()> stop_requested = {};
    /// Now and then, with the bytes done and the bytes there are.
    std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress = {};
};

/// Reads and tokenises the files in their order; the same corpus for every number of threads. Lines end at line feeds
/// only.
/// Error(data) names a file that cannot be read. Throws Interrupted when a stop is asked for.
Corpus read_corpus(const FileSystem& files, const data::Vocabulary& vocabulary, const CorpusSettings& settings);

}  // namespace cnntrain::dataset_tools
