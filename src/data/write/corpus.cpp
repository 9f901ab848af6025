#include "data/write/corpus.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/info.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "data/text/code_points.h"
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

}  // namespace cnntrain::data
