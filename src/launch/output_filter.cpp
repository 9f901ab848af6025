#include "launch/output_filter.h"

#include <algorithm>
#include <charconv>

namespace cnntrain::launch {
namespace {

struct Tag {
    enum class Kind { none, incomplete, whole };
    Kind kind = Kind::none;
    int rank = 0;
    std::size_t length = 0;
};

/// Reads digits from position `at` and moves `at` past them. Empty if there are none.
std::optional<int> read_number(std::string_view text, std::size_t& at) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc{} || value < 0) return std::nullopt;
    at = static_cast<std::size_t>(end - text.data());
    return value;
}

/// Reads the tag "[job,rank]<stdout>:" or "<stderr>:" at the start of `text`.
Tag read_tag(std::string_view text, Stream stream) {
    const std::string_view rest = stream == Stream::out ? "]<stdout>:" : "]<stderr>:";
    if (text.empty() || text.front() != '[') return {};
    std::size_t at = 1;
    Tag tag;
    for (const char behind : {',', ']'}) {
        if (at == text.size()) return {Tag::Kind::incomplete};
        const auto number = read_number(text, at);
        if (!number) return {};
        tag.rank = *number;
        if (at == text.size()) return {Tag::Kind::incomplete};
        if (text[at] != behind) return {};
        if (behind == ',') ++at;
    }
    const std::string_view left = text.substr(at, rest.size());
    if (!rest.starts_with(left)) return {};
    if (left.size() < rest.size()) return {Tag::Kind::incomplete};
    return {Tag::Kind::whole, tag.rank, at + rest.size()};
}

/// The number after the text `begin` in `line`.
std::optional<int> number_behind(std::string_view line, std::string_view begin) {
    std::size_t at = line.find(begin);
    if (at == std::string_view::npos) return std::nullopt;
    at += begin.size();
    return read_number(line, at);
}

}  // namespace

void OutputFilter::add(Stream stream, std::string_view chunk) {
    Input& input = inputs_[static_cast<std::size_t>(stream)];
    input.pending += chunk;
    std::string_view text = input.pending;
    while (!text.empty()) {
        const Tag tag = read_tag(text, stream);
        if (tag.kind == Tag::Kind::incomplete) break;
        if (tag.kind == Tag::Kind::whole) input.owner = tag.rank;
        const std::size_t from = std::max<std::size_t>(tag.length, 1);
        const std::size_t line_end = text.find('\n', tag.length);
        const std::size_t next_tag = text.find('[', from);  // mpirun may also write tags in the middle of a line
        const bool ends_line = line_end < next_tag;
        const std::size_t end = std::min({ends_line ? line_end + 1 : next_tag, text.size()});
        take(stream, text.substr(0, end));
        if (ends_line) input.owner.reset();
        text.remove_prefix(end);
    }
    input.pending = std::string(text);
}

void OutputFilter::finish() {
    for (const Stream stream : {Stream::out, Stream::err}) {
        Input& input = inputs_[static_cast<std::size_t>(stream)];
        take(stream, input.pending);
        input.pending.clear();
    }
}

void OutputFilter::take(Stream stream, std::string_view text) {
    constexpr std::size_t kMostLines = 50;
    const Input& input = inputs_[static_cast<std::size_t>(stream)];
    if (!input.owner && stream == Stream::err) read_verdict(text);
    if (!input.owner || *input.owner == shown_) {
        if (!text.empty()) sink_(stream, text);
        return;
    }
    if (stream == Stream::out) return;
    std::deque<std::string>& lines = last_lines_[*input.owner];
    if (lines.empty() || lines.back().ends_with('\n')) lines.emplace_back();
    lines.back() += text.substr(read_tag(text, stream).length);
    if (lines.size() > kMostLines) lines.pop_front();
}

/// Recognises mpirun's report of a failed process: "Process name: [[7119,1],2]", by Open MPI 5 "Process name:
/// [prterun-vm-4221@1,2]", if it exited with a code; "process rank 2 with PID" if a signal ended it.
void OutputFilter::read_verdict(std::string_view text) {
    verdict_line_ += text;
    if (!verdict_line_.ends_with('\n')) return;
    const std::string line = std::move(verdict_line_);
    verdict_line_.clear();
    if (failed_) return;
    failed_ = number_behind(line, "process rank ");
    const std::size_t name = line.find("Process name: [");
    const std::size_t comma = line.rfind(',');
    if (name != std::string::npos && comma != std::string::npos && comma > name)
        failed_ = number_behind(std::string_view(line).substr(comma), ",");
}

std::map<int, std::string> OutputFilter::last_lines_of_failed() const {
    std::map<int, std::string> result;
    for (const auto& [instance, lines] : last_lines_) {
        if (failed_ && instance != *failed_) continue;
        for (const std::string& line : lines)
            result[instance] += line;
    }
    return result;
}

}  // namespace cnntrain::launch
