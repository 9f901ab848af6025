#include "data/write/pretraining_plan.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/info.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "data/text/tokeniser.h"

namespace cnntrain::data {
namespace {

constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << 20;
constexpr std::size_t kBlocksAhead = 4;  // per thread
constexpr std::size_t kLongestSegment = std::size_t{1} << 31;
/// Text without a blank is one piece for the tokeniser, which takes several times its size.
constexpr std::uint64_t kLongestWithoutBlank = std::uint64_t{16} << 20;

/// Whole lines, or a part of a line that is longer than a block. The last line of a file may lack its line feed.
struct TextBlock {
    std::string text;
    bool is_part = false;
    bool ends_line = true;  // of a part: it is the last one
};

/// Reads several files in blocks that end after a line feed or, in a long line, after a blank.
class BlockReader {
public:
    BlockReader(const FileSystem& files, const std::vector<std::string>& paths) : files_(files), paths_(paths) {
        for (const std::string& path : paths)
            total_bytes_ += files.open(path)->size_bytes();
    }

    std::uint64_t total_bytes() const { return total_bytes_; }
    /// Returns false at the end of the last file.
    bool next(TextBlock& block) {
        for (; !file_ || offset_ == file_->size_bytes(); offset_ = 0) {
            if (next_file_ == paths_.size()) return false;
            file_ = files_.open(paths_[next_file_++]);
        }
        for (std::uint64_t bytes = kBlockBytes; !read_block(bytes, block); bytes *= 2) {
            if (bytes >= kLongestWithoutBlank) {
                throw Error(ErrorKind::data, file_->path() + ": expected lines of text, found " + size_text(bytes) +
                                                 " without a blank or a line feed from byte " +
                                                 std::to_string(offset_) + " on; is it a text file?");
            }
        }
        offset_ += block.text.size();
        inside_line_ = block.is_part && !block.ends_line;
        return true;
    }

private:
    /// False when there is no place to end in so many bytes.
    bool read_block(std::uint64_t bytes, TextBlock& block) const {
        const std::uint64_t left = file_->size_bytes() - offset_;
        std::string& text = block.text;
        text.resize(std::min(bytes, left));
        file_->read_at(offset_, std::as_writable_bytes(std::span(text)));
        const std::size_t line_end = inside_line_ ? text.find('\n') : text.rfind('\n');
        block.is_part = inside_line_;
        block.ends_line = line_end != std::string::npos || text.size() == left;
        if (line_end != std::string::npos && (inside_line_ || text.size() < left)) text.resize(line_end + 1);
        if (block.ends_line) return true;
        const std::size_t blank = text.find_last_of(" \t\r");
        if (blank == std::string::npos) return false;
        text.resize(blank + 1);
        block.is_part = true;
        return true;
    }

    const FileSystem& files_;
    const std::vector<std::string>& paths_;
    std::uint64_t total_bytes_ = 0;
    std::size_t next_file_ = 0;
    std::unique_ptr<InputFile> file_;
    std::uint64_t offset_ = 0;
    bool inside_line_ = false;
};

struct TokenBlock {
    std::uint64_t bytes = 0;
    Corpus::Lines lines;
    bool is_part = false;
    bool ends_line = true;
    bool is_blank = true;  // of a part
};

/// Appends a line, which may lack its line feed, and counts it.
void append_line(std::size_t tokens, bool is_blank, Corpus::Lines& lines) {
    if (tokens > kLongestSegment) throw Error(ErrorKind::data, "a line has more than 2^31 tokens");
    // A line may have characters and yet no token: of such characters all are dropped.
    if (tokens > 0 || is_blank) lines.lengths.push_back(static_cast<std::uint32_t>(tokens));
}

TokenBlock tokenised(const TextBlock& block, Tokeniser& tokeniser) {
    TokenBlock result{block.text.size(), {}, block.is_part, block.ends_line};
    std::vector<TokenId>& tokens = result.lines.tokens;
    tokens.reserve(block.text.size() / 4);
    std::string_view text = block.text;
    if (block.is_part) {
        tokeniser.append_tokens(text, tokens);
        result.is_blank = is_blank(text);
        text = {};
    }
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const std::size_t before = tokens.size();
        tokeniser.append_tokens(line, tokens);
        append_line(tokens.size() - before, is_blank(line), result.lines);
    }
    tokens.shrink_to_fit();
    return result;
}

/// A line that comes in parts.
class LongLine {
public:
    void add(TokenBlock part) {
        tokens_ += part.lines.tokens.size();
        is_blank_ = is_blank_ && part.is_blank;
        parts_.push_back(std::move(part.lines.tokens));
    }
    /// Returns the parts as one line; the next one may begin.
    Corpus::Lines take() {
        Corpus::Lines line;
        line.tokens.reserve(tokens_);
        for (std::vector<TokenId>& part : parts_) {
            line.tokens.insert(line.tokens.end(), part.begin(), part.end());
            part = std::vector<TokenId>();  // frees it
        }
        append_line(tokens_, is_blank_, line);
        *this = {};
        return line;
    }

private:
    std::vector<std::vector<TokenId>> parts_;
    std::size_t tokens_ = 0;
    bool is_blank_ = true;
};

}  // namespace

void Corpus::add(Lines lines) {
    storage_.push_back(std::move(lines.tokens));
    const TokenId* at = storage_.back().data();
    for (const std::uint32_t length : lines.lengths) {
        if (length == 0) {
            document_open_ = false;
            continue;
        }
        if (!document_open_) first_segments_.push_back(0);
        document_open_ = true;
        segments_.emplace_back(at, length);
        at += length;
        first_segments_.back() = segments_.size();
        tokens_ += length;
    }
}

std::uint64_t Corpus::count(TokenId token) const {
    std::int64_t sum = 0;
    for (const std::vector<TokenId>& tokens : storage_)
        sum += std::ranges::count(tokens, token);
    return static_cast<std::uint64_t>(sum);
}

Corpus read_corpus(const FileSystem& files, const Vocabulary& vocabulary, const CorpusSettings& settings) {
    BlockReader reader(files, settings.files);
    tbb::enumerable_thread_specific<Tokeniser> tokenisers(vocabulary, settings.lower_case);
    Corpus corpus;
    LongLine long_line;
    std::uint64_t done_bytes = 0;
    const auto read = [&](tbb::flow_control& flow) -> TextBlock {
        if (settings.stop_requested && settings.stop_requested()) throw Interrupted();
        TextBlock block;
        if (!reader.next(block)) flow.stop();
        return block;
    };
    const auto tokenise = [&](const TextBlock& block) -> TokenBlock { return tokenised(block, tokenisers.local()); };
    const auto append = [&](TokenBlock block) {
        done_bytes += block.bytes;
        const bool is_part = block.is_part;
        const bool ends_line = block.ends_line;
        if (is_part) {
            long_line.add(std::move(block));
            if (ends_line) corpus.add(long_line.take());
        } else {
            corpus.add(std::move(block.lines));
        }
        if (settings.progress) settings.progress(done_bytes, reader.total_bytes());
    };
    const int threads = std::clamp(settings.threads, 1, tbb::info::default_concurrency());
    tbb::task_arena arena(threads);
    arena.execute([&] {
        tbb::parallel_pipeline(kBlocksAhead * static_cast<std::size_t>(threads),
                               tbb::make_filter<void, TextBlock>(tbb::filter_mode::serial_in_order, read) &
                                   tbb::make_filter<TextBlock, TokenBlock>(tbb::filter_mode::parallel, tokenise) &
                                   tbb::make_filter<TokenBlock, void>(tbb::filter_mode::serial_in_order, append));
    });
    return corpus;
}

namespace {

constexpr std::int64_t kFramingTokens = 3;  // [CLS] and two [SEP]
constexpr std::int64_t kLeastLength = kFramingTokens + 2;
constexpr std::int64_t kMostLength = std::int64_t{1} << 20;
constexpr int kDocumentTries = 10;          // attempts to find another document
constexpr double kShareOfMaskTokens = 0.8;  // of the masked tokens
constexpr double kShareUnchanged = 0.5;     // of the other masked tokens
constexpr std::int64_t kDocumentsBetweenReports = 256;

/// Makes the instances in the order of the reference program, with identical random draws.
class Planner {
public:
    Planner(const Corpus& corpus, std::uint32_t vocabulary_pieces, const InstanceSettings& settings)
        : corpus_(corpus),
          vocabulary_pieces_(vocabulary_pieces),
          settings_(settings),
          most_tokens_(settings.sequence_length - kFramingTokens),
          random_(settings.seed),
          documents_(corpus.documents()) {}

    InstancePlan make(const PlanEvents& events) {
        std::iota(documents_.begin(), documents_.end(), 0U);
        random_.shuffle(documents_);
        const auto documents = std::ssize(documents_);
        const std::int64_t total = documents * settings_.duplication_factor;
        for (std::int64_t done = 0; done < total; ++done) {
            if (done % kDocumentsBetweenReports == 0) {
                if (events.stop_requested && events.stop_requested()) throw Interrupted();
                if (events.progress) events.progress(done, total);
            }
            add_document(static_cast<std::size_t>(done % documents));
            if (plan_.instances.size() > std::numeric_limits<std::uint32_t>::max()) {
                throw Error(ErrorKind::data, "more than 2^32 sequences; write the files in several runs");
            }
        }
        plan_.order.resize(plan_.instances.size());
        std::iota(plan_.order.begin(), plan_.order.end(), 0U);
        random_.shuffle(plan_.order);
        return std::move(plan_);
    }

private:
    struct Chunk {
        std::size_t begin = 0;  // segment numbers
        std::size_t end = 0;
        std::size_t size() const { return end - begin; }
    };

    std::uint64_t length(std::size_t begin, std::size_t end) const {
        std::uint64_t sum = 0;
        for (std::size_t i = begin; i < end; ++i)
            sum += corpus_.segment(i).size();
        return sum;
    }

    void add_document(std::size_t place) {
        const std::size_t begin = corpus_.first_segment(documents_[place]);
        const std::size_t end = corpus_.end_segment(documents_[place]);
        auto target = static_cast<std::uint64_t>(most_tokens_);
        if (random_.random() < settings_.short_sequence_probability) {
            target = random_.integer(2, static_cast<std::uint32_t>(most_tokens_));
        }
        Chunk chunk{begin, begin};
        std::uint64_t collected = 0;
        while (chunk.end < end) {
            collected += corpus_.segment(chunk.end).size();
            ++chunk.end;
            if (chunk.end < end && collected < target) continue;
            const std::size_t next = add_instance(place, chunk, target);
            chunk = {next, next};
            collected = 0;
        }
    }

    /// Returns the segment at which the document continues.
    std::size_t add_instance(std::size_t place, Chunk chunk, std::uint64_t target) {
        std::size_t split = chunk.begin + 1;  // between the two sentences
        if (chunk.size() >= 2) split = chunk.begin + random_.integer(1, static_cast<std::uint32_t>(chunk.size() - 1));
        Instance instance;
        const std::uint64_t first_tokens = length(chunk.begin, split);
        instance.first = {static_cast<std::uint32_t>(chunk.begin), 0, static_cast<std::uint32_t>(first_tokens)};
        instance.random_next = chunk.size() == 1 || random_.random() < 0.5;
        if (instance.random_next) {
            instance.second = random_sentence(place, target > first_tokens ? target - first_tokens : 0);
        } else {
            instance.second = {static_cast<std::uint32_t>(split), 0,
                               static_cast<std::uint32_t>(length(split, chunk.end))};
        }
        truncate(instance.first, instance.second);
        mask(instance);
        plan_.instances.push_back(instance);
        return instance.random_next ? split : chunk.end;
    }

    /// Draws at least one segment, if possible of another document, then more until `target` tokens are reached or the
    /// document ends.
    TokenRange random_sentence(std::size_t place, std::uint64_t target) {
        std::uint32_t other = 0;
        for (int i = 0; i < kDocumentTries; ++i) {
            other = random_.below(static_cast<std::uint32_t>(documents_.size()));
            if (other != place) break;
        }
        const std::size_t begin = corpus_.first_segment(documents_[other]);
        const std::size_t end = corpus_.end_segment(documents_[other]);
        const std::size_t start = begin + random_.below(static_cast<std::uint32_t>(end - begin));
        std::uint64_t tokens = 0;
        for (std::size_t i = start; i < end; ++i) {
            tokens += corpus_.segment(i).size();
            if (tokens >= target) break;
        }
        return {static_cast<std::uint32_t>(start), 0, static_cast<std::uint32_t>(tokens)};
    }

    /// Removes single tokens from either end of the longer sentence until both fit.
    void truncate(TokenRange& first, TokenRange& second) {
        for (std::int64_t total = std::int64_t{first.tokens} + second.tokens; total > most_tokens_; --total) {
            TokenRange& longer = first.tokens > second.tokens ? first : second;
            --longer.tokens;
            if (random_.random() < 0.5) ++longer.skipped;
        }
    }

    void mask(Instance& instance) {
        const std::uint32_t separator = 1 + instance.first.tokens;  // its position
        const std::uint32_t length = separator + 1 + instance.second.tokens + 1;
        candidates_.clear();
        for (std::uint32_t position = 1; position + 1 < length; ++position) {
            if (position != separator) candidates_.push_back(position);
        }
        random_.shuffle(candidates_);
        const auto wanted = static_cast<std::size_t>(masked_tokens(length, settings_));
        instance.masks = static_cast<std::uint32_t>(std::min(wanted, candidates_.size()));
        instance.first_mask = plan_.masks.size();
        for (std::uint32_t i = 0; i < instance.masks; ++i) {
            MaskedToken masked{candidates_[i], kUnchanged};
            if (random_.random() < kShareOfMaskTokens) {
                masked.replacement = kMaskToken;
            } else if (random_.random() >= kShareUnchanged) {
                masked.replacement = random_.below(vocabulary_pieces_);
            }
            plan_.masks.push_back(masked);
        }
        std::ranges::sort(plan_.masks.begin() + static_cast<std::ptrdiff_t>(instance.first_mask), plan_.masks.end(), {},
                          &MaskedToken::position);
    }

    const Corpus& corpus_;
    std::uint32_t vocabulary_pieces_;
    const InstanceSettings& settings_;
    std::int64_t most_tokens_;
    PythonRandom random_;
    std::vector<std::uint32_t> documents_;  // shuffled; the reference's document index is a position in it
    std::vector<std::uint32_t> candidates_;
    InstancePlan plan_;
};

}  // namespace

void check_instances(const InstanceSettings& settings) {
    const auto refuse = [](const std::string& what) { throw Error(ErrorKind::usage, what); };
    const std::int64_t length = settings.sequence_length;
    if (length < kLeastLength || length > kMostLength) {
        refuse("the sequence length is " + std::to_string(length) + ", not in " + std::to_string(kLeastLength) + ".." +
               std::to_string(kMostLength));
    }
    if (settings.max_predictions < 1 || settings.max_predictions > length - kFramingTokens) {
        refuse("the number of masked tokens is " + std::to_string(settings.max_predictions) + ", not in 1.." +
               std::to_string(length - kFramingTokens) + " as sequences of " + std::to_string(length) +
               " tokens allow");
    }
    if (settings.duplication_factor < 1) {
        refuse("the duplication factor is " + std::to_string(settings.duplication_factor) + ", not 1 or more");
    }
    for (const double share : {settings.masked_share, settings.short_sequence_probability}) {
        if (!(share >= 0 && share <= 1)) refuse("a probability is " + std::to_string(share) + ", not in 0..1");
    }
}

std::int64_t masked_tokens(std::int64_t length, const InstanceSettings& settings) {
    const auto share = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(length) * settings.masked_share));
    const std::int64_t wanted = std::min(settings.max_predictions, std::max<std::int64_t>(1, share));
    return std::max(wanted, length - settings.sequence_length + settings.max_predictions);
}

InstancePlan plan_instances(const Corpus& corpus, std::uint32_t vocabulary_pieces, const InstanceSettings& settings,
                            const PlanEvents& events) {
    constexpr std::size_t kMostSegments = std::numeric_limits<std::uint32_t>::max();
    if (corpus.segments() > kMostSegments) {
        throw Error(ErrorKind::data, "more than 2^32 sentences; write the files in several runs");
    }
    return Planner(corpus, vocabulary_pieces, settings).make(events);
}

namespace {

constexpr std::size_t kMiddle = 397;
constexpr std::uint32_t kUpperBit = 0x80000000U;
constexpr std::uint32_t kTwist = 0x9908b0dfU;

constexpr std::uint32_t twisted(std::uint32_t upper, std::uint32_t lower) {
    const std::uint32_t mixed = (upper & kUpperBit) | (lower & ~kUpperBit);
    return (mixed >> 1) ^ ((lower & 1) != 0 ? kTwist : 0);
}

constexpr std::uint32_t folded(std::uint32_t word) {
    return word ^ (word >> 30);
}

}  // namespace

PythonRandom::PythonRandom(std::int64_t seed) {
    // seed| in 32-bit digits, lowest first; at least one digit.
    const std::uint64_t size = seed < 0 ? 0 - static_cast<std::uint64_t>(seed) : static_cast<std::uint64_t>(seed);
    std::vector<std::uint32_t> key = {static_cast<std::uint32_t>(size)};
    if (size >> 32 != 0) key.push_back(static_cast<std::uint32_t>(size >> 32));

    state_[0] = 19650218;
    for (std::size_t i = 1; i < kWords; ++i)
        state_[i] = 1812433253U * folded(state_[i - 1]) + static_cast<std::uint32_t>(i);
    // Cycles through words 1..623; at each wrap-around, word 0 is set to the last word.
    std::size_t at = 1;
    const auto advance = [&] {
        if (++at < kWords) return;
        state_[0] = state_[kWords - 1];
        at = 1;
    };
    for (std::size_t i = 0; i < kWords; ++i) {
        const std::size_t digit = i % key.size();
        state_[at] =
            (state_[at] ^ (folded(state_[at - 1]) * 1664525U)) + key[digit] + static_cast<std::uint32_t>(digit);
        advance();
    }
    for (std::size_t i = 1; i < kWords; ++i) {
        state_[at] = (state_[at] ^ (folded(state_[at - 1]) * 1566083941U)) - static_cast<std::uint32_t>(at);
        advance();
    }
    state_[0] = kUpperBit;
}

void PythonRandom::refill() {
    for (std::size_t i = 0; i < kWords - kMiddle; ++i)
        state_[i] = state_[i + kMiddle] ^ twisted(state_[i], state_[i + 1]);
    for (std::size_t i = kWords - kMiddle; i < kWords - 1; ++i)
        state_[i] = state_[i + kMiddle - kWords] ^ twisted(state_[i], state_[i + 1]);
    state_[kWords - 1] = state_[kMiddle - 1] ^ twisted(state_[kWords - 1], state_[0]);
    used_ = 0;
}

std::uint32_t PythonRandom::next() {
    if (used_ == kWords) refill();
    std::uint32_t word = state_[used_++];
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c5680U;
    word ^= (word << 15) & 0xefc60000U;
    return word ^ (word >> 18);
}

double PythonRandom::random() {
    const std::uint32_t high = next() >> 5;  // 27 bits
    const std::uint32_t low = next() >> 6;   // 26 bits
    return (static_cast<double>(high) * 67108864.0 + static_cast<double>(low)) / 9007199254740992.0;
}

std::uint32_t PythonRandom::below(std::uint32_t bound) {
    const int bits = std::bit_width(bound);
    std::uint32_t value = next() >> (32 - bits);
    while (value >= bound)
        value = next() >> (32 - bits);
    return value;
}

}  // namespace cnntrain::data
