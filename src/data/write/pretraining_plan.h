// Plans the pretraining sequences: pairs of sentences, cut to length, and the masked tokens in them.
//
// All random draws of the reference program depend on lengths only. They are made here, sequentially, for all
// sequences; the tokens are then assembled by any number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/data/writers.h"
#include "data/text/tokeniser.h"

namespace cnntrain::data {

// The tokenised documents of text files: one sentence (or other segment) per line, blank lines between documents.

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

// The random numbers of Python's random.Random, to reproduce data that Python programs make from a seed.

/// Mersenne Twister MT19937 (Matsumoto, Nishimura 1998), with CPython's seeding and its random(), randint() and
/// shuffle().
class PythonRandom {
public:
    /// The sign of the seed is ignored.
    explicit PythonRandom(std::int64_t seed);

    double random();                           // in [0, 1), 53 bits
    std::uint32_t below(std::uint32_t bound);  // in 0..bound-1; bound > 0
    /// A number in first..last, both inclusive.
    std::uint32_t integer(std::uint32_t first, std::uint32_t last) { return first + below(last - first + 1); }

    template <typename Container> void shuffle(Container& items) {
        for (std::size_t i = items.size(); i-- > 1;) {
            using std::swap;
            swap(items[i], items[below(static_cast<std::uint32_t>(i + 1))]);
        }
    }

private:
    static constexpr std::size_t kWords = 624;

    std::uint32_t next();
    void refill();

    std::array<std::uint32_t, kWords> state_{};
    std::size_t used_ = kWords;
};

/// A range of tokens in consecutive segments.
struct TokenRange {
    std::uint32_t segment = 0;
    std::uint32_t skipped = 0;  // tokens before the range, counted from the start of the segment
    std::uint32_t tokens = 0;
};

/// Replacements of a masked token that are not vocabulary ids.
inline constexpr TokenId kMaskToken = ~TokenId{0};
inline constexpr TokenId kUnchanged = kMaskToken - 1;

struct MaskedToken {
    std::uint32_t position = 0;        // in the sequence [CLS] first [SEP] second [SEP]
    TokenId replacement = kUnchanged;  // or kMaskToken, or an index into Vocabulary::distinct()
};

struct Instance {
    TokenRange first;
    TokenRange second;
    bool random_next = false;      // the second part comes from another place in the corpus
    std::uint32_t masks = 0;       // number of masked tokens
    std::uint64_t first_mask = 0;  // index in InstancePlan::masks

    /// Number of tokens, with [CLS] and both [SEP].
    std::int64_t tokens() const { return std::int64_t{first.tokens} + second.tokens + 3; }
};

struct InstancePlan {
    std::vector<Instance> instances;   // in the order of their construction
    std::vector<MaskedToken> masks;    // of all instances; ascending positions within each
    std::vector<std::uint32_t> order;  // record order: the shuffled instances

    std::span<const MaskedToken> masks_of(const Instance& instance) const {
        return std::span(masks).subspan(instance.first_mask, instance.masks);
    }
};

/// Throws Error(usage) for impossible settings.
void check_instances(const InstanceSettings& settings);

/// min(M, max(1, round(share * length))), rounding half to even; more if needed so that at most S - M other tokens
/// remain.
std::int64_t masked_tokens(std::int64_t length, const InstanceSettings& settings);

struct PlanEvents {
    std::function<bool()> stop_requested = {};
    /// Called with the number of documents done, over all sweeps, and their total.
    std::function<void(std::int64_t done, std::int64_t total)> progress = {};
};

/// `vocabulary_pieces`: size of Vocabulary::distinct(). The settings must have been checked. Throws Error(data) if
/// there are too many sequences, Interrupted if a stop is requested.
InstancePlan plan_instances(const Corpus& corpus, std::uint32_t vocabulary_pieces, const InstanceSettings& settings,
                            const PlanEvents& events = {});

}  // namespace cnntrain::data
