#include "cnntrain/metrics/text_reports.h"

namespace cnntrain::metrics {

void TextReport::row(const Record& row) {
    if (!row.text.empty()) write(row.text);
}

void TextReport::checkpoint_saved(const SavedCheckpoint& checkpoint) {
    if (checkpoint.iteration > 0) write(checkpoint_line(checkpoint.prefix, checkpoint.seconds));
}

void Console::checkpoint_saved(const SavedCheckpoint& checkpoint) {
    if (checkpoint.iteration == 0) return write(initial_checkpoint_line(checkpoint.prefix));
    TextReport::checkpoint_saved(checkpoint);
}

void Console::write(std::string_view text) {
    progress_.erase();
    // Flushed, so that a pipe or a file shows it at once.
    out_ << text << std::endl;
}

}  // namespace cnntrain::metrics
