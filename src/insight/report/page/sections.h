// The parts of the page below its first screen. Each writes nothing where its run has nothing to show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/insight/findings.h"
#include "cnntrain/insight/run_record.h"
#include "insight/report/page/html.h"

namespace cnntrain::report {

void add_curves(Html& page, const std::vector<RunRecord>& runs);
void add_times(Html& page, const RunRecord& run, const Speed& speed);
void add_confusion(Html& page, const Confusion& confusion);
void add_samples(Html& page, const RunRecord& run, const Confusion& confusion, std::size_t most_pictures);
void add_histograms(Html& page, const RunRecord& run);
void add_weights(Html& page, const RunRecord& run);
void add_words(Html& page, const RunRecord& run);
void add_pipeline(Html& page, const RunRecord& run);
void add_what_ran(Html& page, const RunRecord& run);
void add_differences(Html& page, const std::vector<RunRecord>& runs, const Comparison& comparison);
void add_missing(Html& page, const std::vector<RunRecord>& runs);

/// Text in which no line ends within a flag: browsers break lines after hyphens.
void add_words_of(Html& page, std::string_view text);
/// The text, cut in the middle if it is longer than `most` bytes.
std::string brief(std::string_view text, std::size_t most = 120);

}  // namespace cnntrain::report
