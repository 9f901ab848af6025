#include "dataset_tools/writing/corpus.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/info.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "cnntrain/base/error.h"
#include "data/text/code_points.h"
#include "data/text/tokeniser.h"

namespace cnntrain::dataset_tools {
namespace {

constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << 20;
constexpr std::size_t kBlocksAhead = 4;  // for each thread
constexpr std::size_t kLongestSegment = std::size_t{1} << 31;

/// The text of several files in blocks of whole lines.
class BlockReader {
public:
    BlockReader(const FileSystem& files, const std::vector<std::string>& paths) : files_(files), paths_(paths) {
        for (const std::string& path : paths)
            total_bytes_ += files.open(path)->size_bytes();
    }

    std::uint64_t total_bytes() const { return total_bytes_; }
    /// The next lines; of the last line of a file the line feed may be missing. False at the end of the last file.
    bool next(std::string& text) {
        for (; !file_ || offset_ == file_->size_bytes(); offset_ = 0) {
            if (next_file_ == paths_.size()) return false;
            file_ = files_.open(paths_[next_file_++]);
        }
        for (std::uint64_t bytes = kBlockBytes;; bytes *= 2) {
            const std::uint64_t left = file_->size_bytes() - offset_;
            text.resize(std::min(bytes, left));
            file_->read_at(offset_, std::as_writable_bytes(std::span(text)));
            if (text.size() == left) break;
            const std::size_t end = text.rfind('\n');
            if (end == std::string::npos) continue;  // a line longer than the block
            text.resize(end + 1);
            break;
        }
        offset_ += text.size();
        return true;
    }

private:
    const FileSystem& files_;
    const std::vector<std::string>& paths_;
    std::uint64_t total_bytes_ = 0;
    std::size_t next_file_ = 0;
    std::unique_ptr<InputFile> file_;
    std::uint64_t offset_ = 0;
};

struct Block {
    std::uint64_t bytes = 0;
    Corpus::Lines lines;
};

Corpus::Lines tokenised(std::string_view text, data::Tokeniser& tokeniser) {
    Corpus::Lines lines;
    lines.tokens.reserve(text.size() / 4);
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const std::size_t before = lines.tokens.size();
        tokeniser.append_tokens(line, lines.tokens);
        const std::size_t length = lines.tokens.size() - before;
        if (length > kLongestSegment) throw Error(ErrorKind::data, "a line has more than 2^31 tokens");
        // A line may have characters and yet no token: of such characters all are dropped.
        if (length > 0 || data::is_blank(line)) lines.lengths.push_back(static_cast<std::uint32_t>(length));
    }
    lines.tokens.shrink_to_fit();
    return lines;
}

}  // namespace

void Corpus::add(Lines lines) {
    storage_.push_back(std::move(lines.tokens));
    const data::TokenId* at = storage_.back().data();
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

std::uint64_t Corpus::count(data::TokenId token) const {
    std::int64_t sum = 0;
    for (const std::vector<data::TokenId>& tokens : storage_)
        sum += std::ranges::count(tokens, token);
    return static_cast<std::uint64_t>(sum);
}

Corpus read_corpus(const FileSystem& files, const data::Vocabulary& vocabulary, const CorpusSettings& settings) {
    BlockReader reader(files, settings.files);
    tbb::enumerable_thread_specific<data::Tokeniser> tokenisers(vocabulary, settings.lower_case);
    Corpus corpus;
    std::uint64_t done_bytes = 0;
    const auto read = [&](tbb::flow_control& flow) -> std::string {
        if (settings.stop_requested && settings.stop_requested()) throw Interrupted();
        std::string text;
        if (!reader.next(text)) flow.stop();
        return text;
    };
    const auto tokenise = [&](const std::string& text) -> Block {
        return {text.size(), tokenised(text, tokenisers.local())};
    };
    const auto append = [&](Block block) {
        corpus.add(std::move(block.lines));
        done_bytes += block.bytes;
        if (settings.progress) settings.progress(done_bytes, reader.total_bytes());
    };
    const int threads = std::clamp(settings.threads, 1, tbb::info::default_concurrency());
    tbb::task_arena arena(threads);
    arena.execute([&] {
        tbb::parallel_pipeline(kBlocksAhead * static_cast<std::size_t>(threads),
                               tbb::make_filter<void, std::string>(tbb::filter_mode::serial_in_order, read) &
                                   tbb::make_filter<std::string, Block>(tbb::filter_mode::parallel, tokenise) &
                                   tbb::make_filter<Block, void>(tbb::filter_mode::serial_in_order, append));
    });
    return corpus;
}

}  // namespace cnntrain::dataset_tools
