#include "cnntrain/run/text_reports.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

namespace cnntrain::metrics {
namespace {

using json = nlohmann::ordered_json;

constexpr std::chrono::seconds kFlushInterval(5);
constexpr const char* kMessage = "message";
constexpr const char* kInfo = "info";

json event(std::string_view name) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    return {{"event", name}, {"time", static_cast<double>(milliseconds) / 1e3}};
}

std::string text_of(const json& object) {
    return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The event with these values of its fields, in the order of json_events().
std::string line_of(std::string_view name, std::initializer_list<json> values) {
    const auto described = std::ranges::find(json_events(), name, &JsonEvent::name);
    CNNTRAIN_CHECK(described != json_events().end() && described->fields.size() == values.size(),
                   "an event with other fields: " + std::string(name));
    json object = event(name);
    const json* value = values.begin();
    for (const JsonField& field : described->fields)
        object[field.name] = *value++;
    return text_of(object);
}

}  // namespace

std::string_view name(JsonType type) {
    return enumerator_name(type);
}

const std::vector<JsonEvent>& json_events() {
    using enum JsonType;
    static const std::vector<JsonEvent> events = {
        {"start",
         "the run is set up",
         {{"version", text, "of this program"},
          {"run", text, "name of the run"},
          {"folder", text, "folder of the run; empty with --no-logs"},
          {"command_line", text, "as typed"},
          {"title", text, "the network"},
          {"machine", texts, "processor, cores, backend"},
          {"settings", object, "all options and what follows from them, as in arguments.json"}}},
        {"plan",
         "the data are open (training)",
         {{"iterations", integer, "weight updates of the whole run"},
          {"epochs", number, ""},
          {"global_batch", integer, "samples of an update"},
          {"training_samples", integer, ""},
          {"validation_samples", integer, ""}}},
        {"variables", "the network is compiled (training)", {{"parameters", integer, "trained numbers"}}},
        {"duration",
         "something has ended: compilation, training_loop, time_to_train",
         {{"name", text, "which of them"}, {"seconds", number, ""}}},
        {"training", "as often as rows of training.csv", {}, "its columns"},
        {"validation", "a checkpoint is validated", {}, "the columns of validation.csv"},
        {"inference", "a measurement has ended", {}, "the columns of its validation.csv"},
        {"nans", "NaNs are counted (--analyse-nans)", {}, "iteration, nan_count, nan_variables"},
        {"progress",
         "at most once in 5 seconds",
         {{"done", integer, "units of work"},
          {"total", integer, ""},
          {"unit", text, "iterations, batches, ..."},
          {"rate", number, ""},
          {"rate_unit", text, "per second: images, sequences, texts"},
          {"seconds_left", number, "null while it is unknown"},
          {"readings", object, "loss, accuracy, ...: means of the last updates"}}},
        {"checkpoint",
         "a checkpoint is written",
         {{"iteration", integer, ""}, {"path", text, "without .safetensors"}, {"seconds", number, "to write it"}}},
        {"prediction", "a sample is classified", {}, "as in a file of --predictions that ends in .jsonl"},
        {kMessage, "anything else", {{"level", text, "debug, info, warning or error"}, {"text", text, ""}}},
        {"error",
         "the process ends with an error",
         {{"text", text, "what came, what was expected, what to do"},
          {"exit_code", integer, "cnntrain help exit-codes"}}},
    };
    return events;
}

std::string message_line(std::string_view level, std::string_view text) {
    return line_of(kMessage, {level, text});
}

std::string error_line(std::string_view text, int exit_code) {
    return line_of("error", {text, exit_code});
}

void JsonLines::write(const std::string& line) {
    out_ << line << std::endl;  // flushed, so that pipes show it at once
}

void JsonLines::handle(const Line& line) {
    if (line.to == Line::To::file || (!shows_all() && line.to != Line::To::console)) return;
    write(message_line(kInfo, line.text));
}

void JsonLines::handle(const Result& result) {
    if (result.fields.empty()) return write(message_line(kInfo, result.text));
    // Spliced as text, because names of files may hold bytes that a parser refuses.
    std::string line = text_of(event(result.event));
    line.back() = ',';
    write(line + result.fields.substr(1));
}

void JsonLines::handle(const Duration& duration) {
    if (shows_all()) write(line_of("duration", {duration.name, duration.seconds}));
}

void JsonLines::handle(const RunDescription& run) {
    if (!shows_all()) return;
    write(line_of("start", {run.version, run.name, run.folder, run.command_line, run.title, run.machine,
                            json::parse(run.settings)}));
}

void JsonLines::handle(const VariableList& variables) {
    if (shows_all()) write(line_of("variables", {variables.parameters}));
}

void JsonLines::handle(const Row& row) {
    if (row.use != Row::Use::logged || (!shows_all() && row.record.table == kTraining)) return;
    json object = event(row.record.table);
    for (const Field& field : row.record.fields) {
        json value;
        if (field.measured) std::visit([&](const auto& held) { value = held; }, field.value);
        object[field.name] = std::move(value);
    }
    write(text_of(object));
}

void JsonLines::handle(const Progress& progress) {
    if (!shows_all()) return;
    const auto now = std::chrono::steady_clock::now();
    const bool begins = done_ < 0 || progress.done < done_;
    done_ = progress.done;
    if (!begins && now - written_ < kFlushInterval) return;
    written_ = now;
    const double left = seconds_left(progress);
    json readings = json::object();
    for (const Reading& reading : progress.readings)
        readings[reading.name] = reading.value;
    write(line_of("progress", {progress.done, progress.total, progress.unit, progress.rate, progress.rate_unit,
                               left < 0 ? json() : json(left), std::move(readings)}));
}

void JsonLines::handle(const TrainingSize& size) {
    if (!shows_all()) return;
    write(line_of("plan",
                  {size.iterations, size.epochs, size.global_batch, size.training_samples, size.validation_samples}));
}

void JsonLines::handle(const SavedCheckpoint& checkpoint) {
    if (shows_all()) write(line_of("checkpoint", {checkpoint.iteration, checkpoint.prefix, checkpoint.seconds}));
}

}  // namespace cnntrain::metrics
