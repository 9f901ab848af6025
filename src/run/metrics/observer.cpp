#include "cnntrain/run/observer.h"

namespace cnntrain::metrics {

void Observers::line(std::string_view text) {
    for (const auto& observer : observers_)
        observer->line(text);
}

void Observers::console_line(std::string_view text) {
    for (const auto& observer : observers_)
        observer->console_line(text);
}

void Observers::detail(std::string_view text) {
    for (const auto& observer : observers_)
        observer->detail(text);
}

void Observers::result(const Result& result) {
    for (const auto& observer : observers_)
        observer->result(result);
}

void Observers::duration(std::string_view name, double seconds, std::string_view text) {
    for (const auto& observer : observers_)
        observer->duration(name, seconds, text);
}

void Observers::run_described(const RunDescription& run) {
    for (const auto& observer : observers_)
        observer->run_described(run);
}

void Observers::variables_listed(const VariableList& variables) {
    for (const auto& observer : observers_)
        observer->variables_listed(variables);
}

void Observers::log_line(std::string_view text) {
    for (const auto& observer : observers_)
        observer->log_line(text);
}

void Observers::status(std::string_view key, std::string_view value) {
    for (const auto& observer : observers_)
        observer->status(key, value);
}

void Observers::expect(const Record& row) {
    for (const auto& observer : observers_)
        observer->expect(row);
}

void Observers::row(const Record& row) {
    for (const auto& observer : observers_)
        observer->row(row);
}

void Observers::file_row(const Record& row) {
    for (const auto& observer : observers_)
        observer->file_row(row);
}

void Observers::curve_point(const Record& point) {
    for (const auto& observer : observers_)
        observer->curve_point(point);
}

void Observers::distribution(const Distribution& distribution) {
    for (const auto& observer : observers_)
        observer->distribution(distribution);
}

void Observers::progress(const Progress& progress) {
    for (const auto& observer : observers_)
        observer->progress(progress);
}

void Observers::training_planned(const TrainingSize& size) {
    for (const auto& observer : observers_)
        observer->training_planned(size);
}

void Observers::weights_initialised(const std::vector<std::string>& parameters) {
    for (const auto& observer : observers_)
        observer->weights_initialised(parameters);
}

void Observers::training_began(std::int64_t iteration) {
    for (const auto& observer : observers_)
        observer->training_began(iteration);
}

void Observers::checkpoint_saved(const SavedCheckpoint& checkpoint) {
    for (const auto& observer : observers_)
        observer->checkpoint_saved(checkpoint);
}

void Observers::host_step_ended(std::int64_t iteration) {
    for (const auto& observer : observers_)
        observer->host_step_ended(iteration);
}

void Observers::training_finished() {
    for (const auto& observer : observers_)
        observer->training_finished();
}

void Observers::validation_compared(bool is_best) {
    for (const auto& observer : observers_)
        observer->validation_compared(is_best);
}

void Observers::validation_began() {
    for (const auto& observer : observers_)
        observer->validation_began();
}

void Observers::evaluation_began(double epoch) {
    for (const auto& observer : observers_)
        observer->evaluation_began(epoch);
}

void Observers::validation_ended() {
    for (const auto& observer : observers_)
        observer->validation_ended();
}

void Observers::run_ended() {
    for (const auto& observer : observers_)
        observer->run_ended();
}

}  // namespace cnntrain::metrics
