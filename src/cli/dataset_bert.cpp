// `cnntrain dataset bert`: converts text files to the TFRecord files that BERT pretraining reads.
#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <limits>
#include <memory>
#include <sstream>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/checkpoint/folder.h"
#include "cnntrain/dataset_tools/pretraining_writer.h"

namespace cnntrain::cli {
namespace {

constexpr std::int64_t kKilo = 1000;
constexpr double kUnlikelyShare = 0.05;  // above this share, the vocabulary does not fit the text

dataset_tools::PretrainingWriterSettings bert_settings(const Flags& flags) {
    dataset_tools::PretrainingWriterSettings settings;
    settings.input_files = flags.text("--input-file");
    settings.output_files = flags.text("--output-file");
    std::istringstream outputs(settings.output_files);
    for (std::string path; std::getline(outputs, path, ',');)
        checkpoint::refuse_run_checkpoint(posix_files(), "--output-file", path);
    settings.vocabulary = flags.text("--vocab-file");
    settings.lower_case = flags.given("--do-lower-case");
    dataset_tools::InstanceSettings& how = settings.instances;
    how.sequence_length = flags.integer("--sequence-length", 1);
    how.max_predictions = flags.integer("--mask-tokens", 1);
    how.seed = flags.integer("--seed", std::numeric_limits<std::int64_t>::min());
    how.duplication_factor = flags.integer("--duplication-factor", 1, 1'000'000);
    how.masked_share = flags.number("--mlm-prob", 0, 1);
    how.short_sequence_probability = flags.number("--short-seq-prob", 0, 1);
    settings.pad_position = flags.integer("--pad-position-value", 0, std::numeric_limits<std::int32_t>::max());
    settings.remask = flags.given("--remask");
    settings.packed = flags.given("--packed");
    flags.integer("--max-samples", std::numeric_limits<std::int64_t>::min());
    settings.threads = flags.threads();
    settings.overwrite = flags.given("--overwrite");
    return settings;
}

/// Shows one progress line for each stage of the job; the stages run one after the other.
class StageReports {
public:
    void update(const dataset_tools::PretrainingProgress& now) {
        struct Unit {
            std::string_view name;
            std::int64_t size;
        };
        constexpr std::array<Unit, 3> kUnits = {{{"kB of text", kKilo}, {"documents", 1}, {"records", 1}}};
        const Unit& unit = kUnits[static_cast<std::size_t>(now.stage)];
        if (!report_ || stage_ != now.stage) {
            report_.reset();  // ends this stage's line before the next starts
            report_ = std::make_unique<ProgressReport>(unit.name);
            stage_ = now.stage;
        }
        report_->update(now.done / unit.size, now.kept / unit.size, now.total / unit.size);
    }

private:
    std::unique_ptr<ProgressReport> report_;
    dataset_tools::PretrainingStage stage_ = dataset_tools::PretrainingStage::tokenise;
};

std::string share(std::int64_t part, std::int64_t whole) {
    return decimal(100.0 * static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(whole, 1))) + " %";
}

void print_bert_summary(const dataset_tools::PretrainingWriterSettings& settings,
                        const dataset_tools::PretrainingWriterResult& result, double seconds) {
    if (result.tokens > 0) {
        std::cout << result.input_files << " files of text: " << result.documents << " documents, " << result.sentences
                  << " sentences, " << result.tokens << " tokens (" << share(result.unknown_tokens, result.tokens)
                  << " unknown)\n";
    }
    std::cout << "Wrote " << result.records << " records to " << result.files_written + result.files_kept << " files, "
              << size_text(result.bytes) << ", " << decimal(seconds) << " s";
    if (result.files_kept > 0) std::cout << " (" << result.files_kept << " files were there already)";
    std::cout << "; " << share(result.random_next, result.sequences) << " with a random next sentence, "
              << decimal(static_cast<double>(result.masked_tokens) /
                         static_cast<double>(std::max<std::int64_t>(result.sequences, 1)))
              << " masked tokens each" << std::endl;
    if (result.sequence_tokens > 0) {
        const std::int64_t room = result.records * settings.instances.sequence_length;
        std::cout << "Packed " << result.sequences << " sequences into " << result.records << " records; "
                  << share(room - result.sequence_tokens, room) << " of the tokens are padding" << std::endl;
    }
    if (static_cast<double>(result.unknown_tokens) > kUnlikelyShare * static_cast<double>(result.tokens)) {
        std::cerr << "warning: many tokens are unknown; does the vocabulary fit the text, and --do-lower-case the "
                     "vocabulary?\n";
    }
}

}  // namespace

const CommandFlags& dataset_bert_flags() {
    static const CommandFlags table = {{
        {"--input-file", "",
         "text files (names or patterns, separated by commas): one sentence per line, blank lines between documents"},
        {"--output-file", "", "TFRecord files to write (separated by commas), filled in turn"},
        {"--vocab-file", "", "WordPiece vocabulary: one piece per line"},
        {"--do-lower-case", "", "convert to lower case and strip accents, for uncased vocabularies", {}, true},
        {"--sequence-length", "128", "tokens per sequence", "--max-seq-length"},
        {"--mask-tokens", "20", "maximum number of masked tokens per sequence", "--max-predictions-per-seq"},
        {"--seed", "1984", "seed of all random choices; the reference program makes the same records from it",
         "--random-seed"},
        {"--duplication-factor", "6", "times that each document is used, with new cuts and masks each time",
         "--dupe-factor"},
        {"--mlm-prob", "0.15", "share of the tokens that are masked", "--masked-lm-prob"},
        {"--short-seq-prob", "0.1", "share of the documents that are cut to shorter sequences"},
        {"--pad-position-value", "384", "position of padding in records made with --remask"},
        {"--remask", "", "masked tokens in front, as --static-mask reads them", {}, true},
        {"--packed",
         "",
         "as many sequences in a record as fit into --sequence-length, for cnntrain pretrain --packed",
         {},
         true},
        {"--max-samples", "-1", "no effect, as in the script"},
        {"--threads", "0", "0: one per core"},
        {"--overwrite", "", "replace output files of another conversion, and changed ones", {}, true},
    }};
    return table;
}

int dataset_bert(const std::string& called, const std::vector<std::string>& arguments) {
    const Flags flags(dataset_bert_flags(), called, arguments);
    if (flags.print_help_if_wanted()) return 0;
    const dataset_tools::PretrainingWriterSettings settings = bert_settings(flags);
    catch_stop_signals();
    const auto start = std::chrono::steady_clock::now();
    dataset_tools::PretrainingWriterResult result;
    {
        StageReports reports;
        dataset_tools::PretrainingWriterEvents events;
        events.progress = [&](const dataset_tools::PretrainingProgress& now) { reports.update(now); };
        events.stop_requested = stop_requested;
        result = dataset_tools::write_pretraining_records(settings, events);
    }
    if (!result.interrupted) {
        print_bert_summary(settings, result, seconds_since(start));
        return 0;
    }
    std::cout << "Stopped: " << result.files_written + result.files_kept
              << " files are finished; run the same command again to continue with the others" << std::endl;
    return kInterruptedExitCode;
}

}  // namespace cnntrain::cli
