// A run's report for programs: one JSON object a line, for each event.
#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/run/observer.h"
#include "cnntrain/run/text_reports.h"

namespace cnntrain::metrics {

/// Types of JSON in events.
enum class JsonType : std::uint8_t { text, integer, number, texts, object };
std::string_view name(JsonType type);

struct JsonField {
    std::string_view name;
    JsonType type;
    std::string_view meaning;
};

struct JsonEvent {
    std::string_view name;
    std::string_view when;
    std::vector<JsonField> fields = {};
    std::string_view more = {};  // what further fields there are; empty: none
};

/// All events. Each also has "event", its name, and "time", in seconds since 1970.
const std::vector<JsonEvent>& json_events();

/// A diagnostic as a line, for log::set_format().
std::string message_line(std::string_view level, std::string_view text);
/// The error that ends the process, as a line.
std::string error_line(std::string_view text, int exit_code);

/// Numbers that are not finite are null; bytes that are no UTF-8 become U+FFFD.
class JsonLines final : public Handles<JsonLines> {
public:
    /// `extent`: `results` or `all`.
    JsonLines(std::ostream& out, Extent extent) : out_(out), extent_(extent) {}

    void handle(const Line& line);
    void handle(const Result& result);
    void handle(const Duration& duration);
    void handle(const RunDescription& run);
    void handle(const VariableList& variables);
    void handle(const Row& row);
    /// Writes at most one event in five seconds, and the first one of each piece of work.
    void handle(const Progress& progress);
    void handle(const TrainingSize& size);
    void handle(const SavedCheckpoint& checkpoint);

private:
    bool shows_all() const { return extent_ != Extent::results; }
    void write(const std::string& line);

    std::ostream& out_;
    Extent extent_;
    std::int64_t done_ = -1;  // at the last progress event
    std::chrono::steady_clock::time_point written_;
};

}  // namespace cnntrain::metrics
