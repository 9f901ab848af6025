#include "cnntrain/run/text_reports.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/rows.h"

namespace cnntrain::metrics {

// A training on a screen: a table with a row for each validation, or for each epoch without one.

class EpochTable {
public:
    /// A log line of the training, which becomes part of the next row.
    void add_training(const Record& row);
    /// The results of a validation; of several before a row, the last ones are shown.
    void add_validation(const Record& row);
    /// True from the first log line an epoch after the last row until the next row.
    bool is_due() const { return is_due_; }
    /// True if there are log lines after the last row.
    bool has_news() const { return epoch_ > shown_; }
    /// The row, below the head where the columns changed since the row before. `progress` is the
    /// training's; without an update yet, there is no rate.
    std::string row(const Progress& progress, bool is_best);

private:
    struct Cell {
        std::string head;
        std::string text;
    };

    double epoch_ = 0;
    double shown_ = 0;  // epoch of the last row
    bool is_due_ = false;
    std::string head_;  // of the last row
    std::vector<Cell> training_;
    std::vector<Cell> validation_;
};

namespace {

constexpr std::size_t kCellWidth = 8;

const Field& field(const Record& row, std::string_view name) {
    return *std::ranges::find(row.fields, name, &Field::name);
}

double number(const Field& field) {
    const double* const value = std::get_if<double>(&field.value);
    return value != nullptr ? *value : 0;
}

std::string text_of(const Field& field) {
    return formatted(field.percent ? "%.2f %%" : "%.4f", number(field));
}

/// Aligns a text with the right of its column.
std::string cell(const std::string& head, const std::string& text) {
    const std::size_t width = std::max(head.size(), kCellWidth);
    return "  " + std::string(width - std::min(width, text.size()), ' ') + text;
}

}  // namespace

void EpochTable::add_training(const Record& row) {
    const double epoch = number(field(row, "epoch"));
    is_due_ = epoch >= shown_ + 1;
    epoch_ = epoch;
    training_.clear();
    const auto loss = std::ranges::find_if(row.fields, [](const Field& field) { return !field.label.empty(); });
    if (loss != row.fields.end()) training_.push_back({"train " + loss->label, text_of(*loss)});
}

void EpochTable::add_validation(const Record& row) {
    epoch_ = number(field(row, "epoch"));
    is_due_ = true;
    validation_.clear();
    for (const Field& field : row.fields) {
        if (field.label.empty()) continue;
        const bool is_loss = field.label == "loss";
        const auto place = is_loss ? validation_.begin() : validation_.end();
        validation_.insert(place, {is_loss ? "val loss" : field.label, text_of(field)});
    }
}

std::string EpochTable::row(const Progress& progress, bool is_best) {
    constexpr std::string_view kEpoch = "   epoch";
    is_due_ = false;
    shown_ = epoch_;
    std::string head(kEpoch);
    std::string line = formatted("%8.2f", epoch_);
    const double left = seconds_left(progress);
    std::vector<Cell> cells = training_;
    cells.insert(cells.end(), validation_.begin(), validation_.end());
    if (progress.done > 0) {
        cells.push_back({std::string(progress.rate_unit) + "/s", formatted("%.1f", progress.rate)});
        cells.push_back({"left", left < 0 ? "" : duration_text(left)});
    }
    for (const auto& [name, text] : cells) {
        head += cell(name, name);
        line += cell(name, text);
    }
    if (is_best) line += "  best";
    for (Cell& cell : validation_)
        cell.text.clear();
    return std::exchange(head_, head) == head ? line : head + "\n" + line;
}

namespace {

/// A validation that is no part of a table: "ckpt-12 (epoch 3.00): loss 1.8021, accuracy 35.20 %, 812.0 img/s".
std::string validation_text(const Record& row) {
    std::string text = std::get<std::string>(field(row, "name").value);
    text += formatted(" (epoch %.2f)", number(field(row, "epoch")));
    char before = ':';
    for (const Field& field : row.fields) {
        if (field.label.empty()) continue;
        text += before + (" " + field.label) + " " + text_of(field);
        before = ',';
    }
    const auto rate =
        std::ranges::find_if(row.fields, [](const Field& field) { return field.name.ends_with("_per_sec"); });
    const std::string unit = rate->name.substr(0, rate->name.find('_'));
    return text + before + formatted(" %.1f ", number(*rate)) + unit + "/s";
}

constexpr std::string_view kEmulated = " emulated";

/// The words in lines of at most so many columns, all but the first after `indent` blanks.
std::string wrapped(std::string_view words, std::size_t indent, std::size_t columns) {
    std::string text;
    std::size_t column = indent;
    while (!words.empty()) {
        const std::size_t end = std::min(words.find(' '), words.size());
        const bool fits = column + 1 + end < columns;
        if (column > indent) text += fits ? " " : "\n" + std::string(indent, ' ');
        column = (fits ? column + 1 : indent) + end;
        text += words.substr(0, end);
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return text;
}

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
    const Moment now = std::chrono::system_clock::now();
    return clock_text("%Y-%m-%d %H:%M:%S", now) +
           formatted(".%06lld: I ", below_second<std::chrono::milliseconds>(now));
}

void TextReport::put(std::string_view given) {
    const std::string text = printable_lines(rates_are_emulated_ ? with_emulated_rates(given) : std::string(given));
    if (prefix_ == nullptr) return write(text);
    const std::string prefix = prefix_();
    write(joined(split(text, '\n'), "\n",
                 [&](std::string_view line) { return line.empty() ? "" : prefix + std::string(line); }));
}

void TextReport::handle(const Row& row) {
    if (row.use == Row::Use::logged && !row.record.text.empty()) put(row.record.text);
}

void TextReport::handle(const SavedCheckpoint& checkpoint) {
    if (checkpoint.iteration > 0) put(checkpoint_line(checkpoint.prefix, checkpoint.seconds));
}

void TextReport::handle(const RunDescription& run) {
    put("Command line: " + run.command_line);
    for (const std::string& line : run.machine)
        put(line);
    if (is_console() && !run.io_line.empty()) put(run.io_line);
    put(run.summary);
    put(run.settings);
}

Console::Console(std::ostream& out, Settings settings)
    : TextReport(settings.prefix),
      out_(out),
      extent_(settings.extent),
      terminal_(std::move(settings.terminal)),
      progress_(out, shows_lines() ? terminal_ : Terminal()) {}

Console::~Console() = default;

void Console::handle(const Line& line) {
    using enum Line::To;
    const bool shown =
        line.to == console || (line.to == all && shows_lines()) || (line.to == details && extent_ == Extent::all);
    if (shown) put(line.text);
}

void Console::handle(const Duration& duration) {
    if (shows_lines()) put(duration.text);
}

void Console::handle(const RunDescription& run) {
    if (extent_ == Extent::all) return TextReport::handle(run);
    if (extent_ == Extent::results) return;
    constexpr std::size_t kColumn = 15;
    constexpr int kUsualColumns = 100;
    const auto columns = static_cast<std::size_t>(columns_of(terminal_, kUsualColumns));
    std::string text = styled(wrapped(printable(run.title), 0, columns), Style::bold, terminal_.colours);
    for (const auto& [name, what] : run.topics) {
        const std::string head = name + ":";
        text += "\n" + head + std::string(kColumn - std::min(kColumn - 1, head.size()), ' ');
        text += wrapped(printable_lines(what), kColumn, columns);
    }
    write(text);
}

void Console::handle(const VariableList& variables) {
    if (extent_ == Extent::all) put(variables.text);
}

void Console::handle(const Status& status) {
    if (status.key == kCompilationStatus && status.value == kCompiling) progress_.show("Compiling the network ...");
}

void Console::handle(const Row& row) {
    if (row.use != Row::Use::logged) return;
    if (extent_ == Extent::brief) return row_on_screen(row.record);
    if (shows_lines() || row.record.table != kTraining) TextReport::handle(row);
}

void Console::row_on_screen(const Record& row) {
    if (table_ && row.table == kTraining) return table_->add_training(row);
    if (row.table != kValidation) return TextReport::handle(Row{row});
    if (table_) return table_->add_validation(row);
    const bool lacks_latency =
        std::ranges::any_of(row.fields, [](const Field& field) { return field.name == "latency" && !field.measured; });
    lacks_latency ? put(validation_text(row)) : TextReport::handle(Row{row});
}

void Console::handle(const TrainingSize& size) {
    constexpr double kFewestEpochs = 2;
    if (extent_ == Extent::brief && size.epochs >= kFewestEpochs) table_ = std::make_unique<EpochTable>();
}

void Console::handle(const ValidationCompared& validation) {
    if (table_) put(table_->row(training_progress_, validation.is_best));
}

void Console::handle(const TrainingFinished& /*end*/) {
    if (table_ && table_->has_news()) put(table_->row(training_progress_, false));
    table_.reset();
}

void Console::handle(const RunEnded& /*end*/) {
    table_.reset();
}

void Console::handle(const HostStepEnded& /*step*/) {
    if (table_ && table_->is_due()) put(table_->row(training_progress_, false));
}

void Console::handle(const SavedCheckpoint& checkpoint) {
    if (!shows_lines() || table_) return;
    if (checkpoint.iteration == 0) return put(initial_checkpoint_line(checkpoint.prefix));
    TextReport::handle(checkpoint);
}

void Console::handle(const Progress& given) {
    if (!shows_lines()) return;
    Progress progress = given;
    const std::string unit = std::string(kEmulated.substr(1)) + " " + std::string(given.rate_unit);
    if (rates_are_emulated()) progress.rate_unit = unit;
    if (!progress.is_silent) {  // not a validation's
        training_progress_ = progress;
        training_progress_.rate_unit = rate_unit_ = progress.rate_unit;
    }
    if (progress_.has_terminal()) return progress_.show(progress);
    if (minutes_.is_due(progress)) put(progress_text(progress));
}

void Console::write(std::string_view text) {
    progress_.erase();
    // Flushed, so that pipes and files show it at once.
    out_ << text << std::endl;
}

namespace {

constexpr std::chrono::milliseconds kDrawInterval(200);
constexpr double kSecondsPerLine = 60;
constexpr std::string_view kErase = "\r\033[J";  // all from the first column of this row on

/// The terminal that shows a progress line; -1: none does.
std::atomic<int> shown_on{-1};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler reads it");

std::string text_of(const Reading& reading) {
    return reading.name + formatted(reading.percent ? " %.2f %%" : " %.3f", reading.value);
}

/// A part of the line. Where there is no room, parts with high numbers are left out first.
struct Part {
    std::string text;
    int leaves = 0;  // 0: never
};

/// The parts of the line after the share of the work that is done.
std::vector<Part> parts_of(const Progress& progress) {
    const std::string count = std::to_string(progress.done) + "/" + std::to_string(progress.total) + " ";
    std::vector<Part> parts = {{count + std::string(progress.unit), progress.readings.empty() ? 1 : 5}};
    for (const Reading& reading : progress.readings)
        parts.push_back({text_of(reading), &reading == &progress.readings.front() ? 1 : 3});
    parts.push_back({formatted("%.1f ", progress.rate) + std::string(progress.rate_unit) + "/s", 4});
    const double left = seconds_left(progress);
    if (left >= 0) parts.push_back({duration_text(left) + " left", 2});
    return parts;
}

/// The line with the parts whose `leaves` is below `most`.
std::string line_of(const Progress& progress, const std::vector<Part>& parts, int most) {
    const double share =
        progress.total > 0 ? static_cast<double>(progress.done) / static_cast<double>(progress.total) : 1;
    std::string text = formatted("[%5.1f%%]", 100 * share);
    bool first = true;
    for (const Part& part : parts) {
        if (part.leaves >= most) continue;
        text += (first ? " " : ", ") + part.text;
        first = false;
    }
    return text;
}

}  // namespace

std::string duration_text(double seconds) {
    const auto total = static_cast<long long>(std::llround(seconds));
    return formatted("%lld:%02lld:%02lld", total / 3600, total / 60 % 60, total % 60);
}

double seconds_left(const Progress& progress) {
    if (progress.done <= progress.first || progress.elapsed_seconds <= 0) return -1;
    const double each = progress.elapsed_seconds / static_cast<double>(progress.done - progress.first);
    return each * static_cast<double>(progress.total - progress.done);
}

std::string progress_text(const Progress& progress, std::size_t width) {
    constexpr int kAll = 6;
    const std::vector<Part> parts = parts_of(progress);
    std::string text = line_of(progress, parts, kAll);
    for (int most = kAll - 1; text.size() > width && most > 0; --most)
        text = line_of(progress, parts, most);
    return text.substr(0, width);
}

ProgressLine::ProgressLine(std::ostream& console, Terminal terminal)
    : console_(console), terminal_(std::move(terminal)) {
    if (has_terminal()) log::set_before_line([this] { erase(); });
}

ProgressLine::~ProgressLine() {
    if (has_terminal()) log::set_before_line({});
    erase();
}

void ProgressLine::show(const Progress& progress) {
    if (!has_terminal()) return;
    const std::scoped_lock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (shown_ && now - written_ < kDrawInterval) return;
    written_ = now;
    const int columns = terminal_.columns();
    if (columns > 1) write(progress_text(progress, static_cast<std::size_t>(columns - 1)));
}

void ProgressLine::show(const std::string& text) {
    if (!has_terminal()) return;
    const std::scoped_lock lock(mutex_);
    const int columns = terminal_.columns();
    if (columns > 1) write(text.substr(0, static_cast<std::size_t>(columns - 1)));
}

void ProgressLine::write(const std::string& text) {
    console_ << kErase << text << '\r' << std::flush;
    shown_ = true;
    shown_on = terminal_.descriptor;
}

void ProgressLine::erase() {
    const std::scoped_lock lock(mutex_);
    if (!shown_) return;
    console_ << kErase << std::flush;
    shown_ = false;
    shown_on = -1;
}

void abandon_progress_line() noexcept {
    const int descriptor = shown_on.exchange(-1);
    if (descriptor < 0) return;
    const ssize_t ignored = ::write(descriptor, kErase.data(), kErase.size());
    static_cast<void>(ignored);
}

/// A piece of work with less done than before is another one.
bool MinuteLines::is_due(const Progress& progress) {
    const auto minutes = static_cast<std::int64_t>(progress.elapsed_seconds / kSecondsPerLine);
    if (progress.done < done_ || minutes < minutes_) minutes_ = 0;
    done_ = progress.done;
    if (!progress.is_silent || minutes <= minutes_) return false;
    minutes_ = minutes;
    return true;
}

}  // namespace cnntrain::metrics
