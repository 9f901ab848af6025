#include "cnntrain/metrics/text_reports.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "cnntrain/base/format.h"

namespace cnntrain::metrics {

namespace {

constexpr std::string_view kEmulated = " emulated";

std::string with_emulated_rates(std::string_view given) {
    constexpr std::string_view kRate = " samples/sec";
    std::string text(given);
    for (std::size_t at = text.find(kRate); at != std::string::npos; at = text.find(kRate, at)) {
        text.insert(at, kEmulated);
        at += kEmulated.size() + kRate.size();
    }
    return text;
}

}  // namespace

std::string dated_prefix() {
    const auto now = std::chrono::system_clock::now();
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    const auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
    std::tm local{};
    localtime_r(&seconds, &local);
    std::array<char, 32> time{};
    std::strftime(time.data(), time.size(), "%Y-%m-%d %H:%M:%S", &local);
    return time.data() + formatted(".%06lld: I ", static_cast<long long>(milliseconds));
}

void TextReport::put(std::string_view given) {
    const std::string text = rates_are_emulated_ ? with_emulated_rates(given) : std::string(given);
    if (prefix_ == nullptr) return write(text);
    const std::string prefix = prefix_();
    std::string lines;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        if (begin > 0) lines += '\n';
        if (end > begin) lines += prefix;
        lines += text.substr(begin, end - begin);
        begin = end + 1;
    }
    write(lines);
}

void TextReport::row(const Record& row) {
    if (!row.text.empty()) put(row.text);
}

void TextReport::checkpoint_saved(const SavedCheckpoint& checkpoint) {
    if (checkpoint.iteration > 0) put(checkpoint_line(checkpoint.prefix, checkpoint.seconds));
}

void Console::checkpoint_saved(const SavedCheckpoint& checkpoint) {
    if (checkpoint.iteration == 0) return put(initial_checkpoint_line(checkpoint.prefix));
    TextReport::checkpoint_saved(checkpoint);
}

void Console::progress(const Progress& given) {
    Progress progress = given;
    const std::string unit = std::string(kEmulated.substr(1)) + " " + std::string(given.rate_unit);
    if (rates_are_emulated()) progress.rate_unit = unit;
    if (progress_.has_terminal()) return progress_.show(progress);
    if (minutes_.is_due(progress)) put(progress_text(progress));
}

void Console::write(std::string_view text) {
    progress_.erase();
    // Flushed, so that pipes and files show it at once.
    out_ << text << std::endl;
}

}  // namespace cnntrain::metrics
