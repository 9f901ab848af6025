// `cnntrain dataset`: writes, checks and inspects data sets in the formats that training reads.
#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <limits>
#include <memory>
#include <sstream>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/dataset_inspect.h"
#include "cli/flags.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/writers.h"
#include "cnntrain/options/commands.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::cli {
namespace {

CommandFlags dataset_cifar_flags() {
    return {{{"--output-dir", "", "folder to write cifar-10-batches-bin into"},
             {"--train", "10000", "training images"},
             {"--test", "2000", "test images"},
             {"--classes", "10", "classes, 2 to 10"},
             {"--seed", "0", "of the images"},
             toggle("--overwrite", "replace files that this command did not write, or that were changed")}};
}

int dataset_cifar(const Flags& flags) {
    data::GeneratedCifarSettings settings;
    settings.folder = flags.text("--output-dir");
    settings.train_images = flags.integer("--train", 1, 1'000'000'000);
    settings.test_images = flags.integer("--test", 1, 1'000'000'000);
    settings.classes = static_cast<std::int32_t>(flags.integer("--classes", 2, 10));
    settings.seed = static_cast<std::uint64_t>(flags.integer("--seed", 0));
    settings.overwrite = flags.given("--overwrite");
    const std::string folder = data::write_generated_cifar(settings);
    std::cout << "Wrote " << settings.train_images << " training and " << settings.test_images << " test images of "
              << settings.classes << " classes to " << folder << '\n';
    return 0;
}

CommandFlags dataset_photos_flags() {
    return {{{"--output-dir", "", "folder to write train/<class>/ and validation/<class>/ into"},
             {"--train", "1200", "training photos"},
             {"--validation", "240", "validation photos"},
             {"--seed", "0", "of the photos"},
             toggle("--overwrite", "replace photos that were generated with other options")}};
}

int dataset_photos(const Flags& flags) {
    data::GeneratedPhotosSettings settings;
    settings.folder = without_trailing_slashes(flags.text("--output-dir"));
    settings.train_photos = flags.integer("--train", 1, 1'000'000);
    settings.validation_photos = flags.integer("--validation", 1, 1'000'000);
    settings.seed = static_cast<std::uint64_t>(flags.integer("--seed", 0));
    settings.overwrite = flags.given("--overwrite");
    data::write_generated_photos(settings);
    std::cout << "Wrote " << settings.train_photos << " training and " << settings.validation_photos
              << " validation photos of " << data::kPhotoClasses << " shapes to " << settings.folder << '\n';
    return 0;
}

constexpr DatasetKind kKinds[] = {
    {"cifar", "", "write a small, learnable generated set in CIFAR-10's format", dataset_cifar_flags, dataset_cifar},
    {"photos", "", "write small, learnable photos of shapes in class folders", dataset_photos_flags, dataset_photos},
    {"imagenet", "imagenet_to_gcs.py", "write TFRecord files from folders of images", dataset_imagenet_flags,
     dataset_imagenet},
    {"bert", "create_pretraining_data.py", "write TFRecord files for BERT pretraining from text", dataset_bert_flags,
     dataset_bert},
    {"inspect", "", "show the contents of TFRecord or CIFAR files: records, keys, sizes, labels", dataset_inspect_flags,
     dataset_inspect},
    {"verify", "", "check that a data set is complete and undamaged: checksums, missing files, images",
     dataset_verify_flags, dataset_verify},
    {"suspects", "", "list samples of a run's data that look wrongly labelled, and near-duplicates across splits",
     dataset_suspects_flags, dataset_suspects},
};

void print_kinds() {
    constexpr std::size_t kColumn = 12;
    std::cout << "usage: cnntrain dataset <kind> [options]\n\n";
    for (const DatasetKind& kind : kKinds) {
        std::cout << padded("  " + std::string(kind.name), kColumn, 2) << kind.help;
        if (!kind.script.empty()) std::cout << " (also " << kind.script << ")";
        std::cout << '\n';
    }
    std::cout << "\ncnntrain dataset <kind> --help lists the options.\n";
}

/// `called`: the name to show in help.
int run_kind(const DatasetKind& kind, const std::string& called, const std::vector<std::string>& words) {
    const Flags flags(kind.flags(), called, words);
    return flags.print_help_if_wanted() ? 0 : kind.run(flags);
}

/// Runs the kind whose original script was typed; that name selects both command and kind.
int run_script(std::string_view script, const std::vector<std::string>& arguments) {
    for (const DatasetKind& kind : kKinds) {
        if (kind.script == script) return run_kind(kind, std::string(script), arguments);
    }
    throw Error(ErrorKind::internal, "no kind of data set answers to " + std::string(script));
}

}  // namespace

std::span<const DatasetKind> dataset_kinds() {
    return kKinds;
}

int dataset_command(const Invocation& invocation) {
    const std::string_view file = last_part(invocation.command);
    const std::vector<std::string>& words = invocation.arguments;
    if (file != options::name(options::Command::dataset)) return run_script(file, words);
    if (words.empty() || options::asks_help(words.front())) {
        print_kinds();
        return 0;
    }
    std::vector<std::string> names;
    for (const DatasetKind& kind : kKinds) {
        if (kind.name == words.front())
            return run_kind(kind, "cnntrain dataset " + words.front(), {words.begin() + 1, words.end()});
        names.emplace_back(kind.name);
    }
    throw Error(ErrorKind::usage, "cnntrain dataset: '" + words.front() + "' is none of its kinds, which are " +
                                      joined(names) + suggestion(words.front(), names));
}

// `cnntrain dataset imagenet`: converts image files to the TFRecord files that training reads.

namespace {

data::ImagenetWriterSettings imagenet_settings(const Flags& flags) {
    data::ImagenetWriterSettings settings;
    const auto take = [&](std::string_view name, std::string& to) {
        if (flags.given(name)) to = flags.text(name);
    };
    settings.output_folder = flags.text("--output-dir");
    take("--validation-labels", settings.validation_labels);
    take("--validation-dir", settings.validation_folder);
    data::find_raw_images(flags.text("--raw-data-dir"), settings);
    take("--labels", settings.train_labels);
    take("--classes", settings.classes);
    take("--synset-names", settings.synset_names);
    take("--bounding-boxes", settings.bounding_boxes);
    settings.validation_fraction = flags.number("--validation-fraction", 0, 1);
    if (flags.given("--train-shards")) settings.train_shards = flags.files("--train-shards");
    if (flags.given("--validation-shards")) settings.validation_shards = flags.files("--validation-shards");
    settings.seed = static_cast<std::uint64_t>(flags.integer("--seed", 0));
    settings.threads = flags.threads();
    if (flags.given("--max-skipped")) settings.max_skipped = flags.integer("--max-skipped", 0);
    settings.overwrite = flags.given("--overwrite");
    return settings;
}

data::ConversionEvents events_on(ProgressReport& report) {
    data::ConversionEvents events;
    events.notice = [&](const std::string& text) { report.line(text); };
    events.skipped = [&](const std::string& path, const std::string& reason) {
        report.line("skipped " + path + ": " + reason);
    };
    events.progress = [&](const data::ConversionProgress& now) { report.update(now.done, now.kept, now.total); };
    events.stop_requested = stop_requested;
    return events;
}

void print_imagenet_summary(const data::ImagenetWriterResult& result, const std::string& folder, double seconds) {
    const std::int64_t converted = result.converted_png + result.converted_cmyk + result.converted_other;
    std::cout << "Wrote " << result.train_images << " training and " << result.validation_images
              << " validation images of " << result.classes << " classes to " << folder << '\n'
              << result.images << " images: " << converted << " converted to RGB JPEG (" << result.converted_png
              << " PNG, " << result.converted_cmyk << " CMYK";
    if (result.converted_other > 0) std::cout << ", " << result.converted_other << " others";
    std::cout << "), ";
    if (result.turned > 0) std::cout << result.turned << " turned upright, ";
    std::cout << result.skipped << " skipped";
    if (result.skipped > 0) std::cout << " (see " << folder << "/skipped.txt)";
    if (result.boxes > 0) std::cout << ", " << result.boxes << " with bounding boxes";
    std::cout << "; " << result.files_written + result.files_kept << " files, " << size_text(result.bytes) << ", "
              << decimal(seconds) << " s";
    if (result.files_kept > 0) std::cout << " (" << result.files_kept << " files were there already)";
    std::cout << std::endl;
}

}  // namespace

CommandFlags dataset_imagenet_flags() {
    return {{
        {"--raw-data-dir", "",
         "images: in its folders train and validation (or val); without these, all images are for training"},
        {"--validation-dir", "", "images of the validation split, if they are elsewhere"},
        {"--output-dir", "", "folder to write the TFRecord files into (also --local_scratch_dir)",
         "--local-scratch-dir"},
        {"--labels", "", "file with a training image and its class per line, instead of class folders"},
        {"--validation-labels", "",
         "the same for validation, or the class of each image in sorted order (default: synset_labels.txt)"},
        {"--classes", "", "file with one class per line, in label order (default: all classes, sorted)"},
        {"--synset-names", "", "file with a class and its name in words per line"},
        {"--bounding-boxes", "", "CSV file (name, xmin, ymin, xmax, ymax) or folder of Pascal VOC XML files"},
        {"--validation-fraction", "0", "share of the training images to hold out if there is no validation folder"},
        {"--train-shards", "", "files of the training split (default: 1 for each 1251 images, at most 1024)"},
        {"--validation-shards", "", "files of the validation split (default: 1 for each 390 images, at most 128)"},
        {"--seed", "0", "seed of the order of the images"},
        {"--threads", "0", "threads that convert images; 0: one per core"},
        {"--max-skipped", "", "maximum number of damaged images (default: 1 % of the images, but at least 10)"},
        toggle("--overwrite", "remove the files of another conversion from the output folder, replace changed ones"),
    }};
}

int dataset_imagenet(const Flags& flags) {
    const data::ImagenetWriterSettings settings = imagenet_settings(flags);
    catch_stop_signals();
    data::ImagenetWriterResult result;
    double seconds = 0;
    {
        ProgressReport report("images");
        result = data::write_imagenet_tfrecords(settings, events_on(report));
        seconds = report.elapsed_seconds();
    }
    if (!result.interrupted) {
        print_imagenet_summary(result, settings.output_folder, seconds);
        return 0;
    }
    std::cout << "Stopped: " << result.files_written + result.files_kept << " files are finished in "
              << settings.output_folder << "; run the same command again to continue with the others" << std::endl;
    return kInterruptedExitCode;
}

// `cnntrain dataset bert`: converts text files to the TFRecord files that BERT pretraining reads.

namespace {

constexpr std::int64_t kKilo = 1000;
constexpr double kUnlikelyShare = 0.05;  // above this share, the vocabulary does not fit the text

data::PretrainingWriterSettings bert_settings(const Flags& flags) {
    data::PretrainingWriterSettings settings;
    settings.input_files = flags.text("--input-file");
    settings.output_files = flags.text("--output-file");
    std::istringstream outputs(settings.output_files);
    for (std::string path; std::getline(outputs, path, ',');)
        weights::refuse_run_checkpoint(posix_files(), "--output-file", path);
    settings.vocabulary = flags.text("--vocab-file");
    settings.lower_case = flags.given("--do-lower-case");
    data::InstanceSettings& how = settings.instances;
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
    void update(const data::PretrainingProgress& now) {
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
    data::PretrainingStage stage_ = data::PretrainingStage::tokenise;
};

std::string share(std::int64_t part, std::int64_t whole) {
    return decimal(100.0 * static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(whole, 1))) + " %";
}

void print_bert_summary(const data::PretrainingWriterSettings& settings, const data::PretrainingWriterResult& result,
                        double seconds) {
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

CommandFlags dataset_bert_flags() {
    return {{
        {"--input-file", "",
         "text files (names or patterns, separated by commas): one sentence per line, blank lines between documents"},
        {"--output-file", "", "TFRecord files to write (separated by commas), filled in turn"},
        {"--vocab-file", "", "WordPiece vocabulary: one piece per line, or a tokenizer.json"},
        toggle("--do-lower-case", "convert to lower case and strip accents, for uncased vocabularies"),
        {"--sequence-length", "128", "tokens per sequence", "--max-seq-length"},
        {"--mask-tokens", "20", "maximum number of masked tokens per sequence", "--max-predictions-per-seq"},
        {"--seed", "1984", "seed of all random choices; the reference program makes the same records from it",
         "--random-seed"},
        {"--duplication-factor", "6", "times that each document is used, with new cuts and masks each time",
         "--dupe-factor"},
        {"--mlm-prob", "0.15", "share of the tokens that are masked", "--masked-lm-prob"},
        {"--short-seq-prob", "0.1", "share of the documents that are cut to shorter sequences"},
        {"--pad-position-value", "384", "position of padding in records made with --remask"},
        toggle("--remask", "masked tokens in front, as --static-mask reads them"),
        toggle("--packed",
               "as many sequences in a record as fit into --sequence-length, for cnntrain pretrain --packed"),
        {"--max-samples", "-1", "no effect, as in the script"},
        {"--threads", "0", "0: one per core"},
        toggle("--overwrite", "replace output files of another conversion, and changed ones"),
    }};
}

int dataset_bert(const Flags& flags) {
    const data::PretrainingWriterSettings settings = bert_settings(flags);
    catch_stop_signals();
    const auto start = std::chrono::steady_clock::now();
    data::PretrainingWriterResult result;
    {
        StageReports reports;
        data::PretrainingWriterEvents events;
        events.progress = [&](const data::PretrainingProgress& now) { reports.update(now); };
        events.stop_requested = stop_requested;
        result = data::write_pretraining_records(settings, events);
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
