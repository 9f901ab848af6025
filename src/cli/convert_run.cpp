#include "cli/commands.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <optional>
#include <string>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/exports.h"

namespace cnntrain::cli {

namespace {

constexpr const char* kWeightFlags = "--weights";

/// Options of `inference` that choose samples and weights of the run.
constexpr std::array<std::string_view, 2> kPassed = {"--data-dir", "--dataset"};
constexpr std::array<std::string_view, 2> kPassedSwitches = {"--ema", weights::kTrustFlag};

constexpr const char* kPreparationFlags = "--with-preprocessing";

/// Options without a meaning for other uses of the command.
constexpr std::array<std::string_view, 7> kOnlyOfRuns = {
    "--class-names", "--probabilities", "--data-dir", "--dataset", "--ema", kWeightFlags, kPreparationFlags};
constexpr std::array<std::string_view, 6> kOnlyOfFiles = {"--part",       "--vocab-size",         "--joined-qkv",
                                                          "--hidden-act", "--layer-norm-epsilon", "--vocab-file"};

constexpr const char* kHuggingFace = "hf";  // BERT's, besides the formats of exports

std::vector<std::string> format_names() {
    constexpr auto kNames = spellings(weights::Format{});
    std::vector<std::string> names(kNames.begin(), kNames.end());
    names.emplace_back(kHuggingFace);
    return names;
}

/// The run and the options that choose its weights and samples.
tasks::OpenRequest source_of(const Flags& flags) {
    tasks::OpenRequest source{.run = flags.text("RUN")};
    for (const std::string_view option : kPassed) {
        if (!flags.given(option)) continue;
        source.options.emplace_back(option);
        source.options.push_back(flags.text(option));
    }
    for (const std::string_view option : kPassedSwitches)
        if (flags.given(option)) source.options.emplace_back(option);
    return source;
}

bool is_format(const std::string& name) {
    return name == kHuggingFace || named<weights::Format>(name);
}

weights::Format format_of(const Flags& flags) {
    if (!flags.given("--to")) {
        throw Error(ErrorKind::usage, "--to is needed: " + listed(format_names(), "or") +
                                          ", such as cnntrain convert " + flags.text("RUN") + " --to onnx");
    }
    const std::string& name = flags.text("--to");
    if (const auto format = named<weights::Format>(name)) return *format;
    const std::string nearest = nearest_name(name, format_names());
    throw Error(ErrorKind::usage,
                "--to " + name + " is not a format" + (nearest.empty() ? "." : "; did you mean " + nearest + "?") +
                    " A run is written as " + listed(format_names(), "or") + ": cnntrain convert RUN OUT --to onnx");
}

void refuse_if(bool refused, std::string_view option, const std::string& why) {
    if (refused) throw Error(ErrorKind::usage, std::string(option) + " " + why);
}

void refuse_without_effect(const Flags& flags, weights::Format format) {
    const std::string to(spelling(format));
    for (const std::string_view option : kOnlyOfFiles) {
        const bool fallback = option == "--vocab-size" && flags.integer(option, 0) == 0;
        refuse_if(flags.given(option) && !fallback, option, "has no effect on --to " + to);
    }
    if (format != weights::Format::onnx) {
        for (const std::string_view option : {kWeightFlags, "--probabilities", kPreparationFlags})
            refuse_if(flags.given(option), option, "is for --to onnx");
    }
    refuse_if(format == weights::Format::tf && flags.given("--class-names"), "--class-names",
              "has no place in --to tf: TensorFlow's checkpoints hold numbers only");
    refuse_if(format != weights::Format::tf && flags.wants_f32(), "--checkpoint-dtype f32",
              "is for --to tf and hf; the numbers of --to " + to + " are float32 without it");
}

weights::OnnxWeights weights_of(const Flags& flags) {
    if (!flags.given(kWeightFlags)) return weights::OnnxWeights::f32;
    if (const auto type = named<weights::OnnxWeights>(flags.text(kWeightFlags))) return *type;
    throw Error(ErrorKind::usage,
                std::string(kWeightFlags) + " must be f32, f16 or bf16, not '" + flags.text(kWeightFlags) + "'");
}

std::string compared_text(const std::string& samples, double difference) {
    return "Compared on " + samples + ": the greatest difference is " + formatted("%.2g", difference) +
           " of the greatest output\n";
}

/// One name a line.
std::vector<std::string> names_in(const std::string& path) {
    std::vector<std::string> names = whole_lines(read_text(posix_files(), path));
    while (!names.empty() && names.back().empty())
        names.pop_back();
    if (names.empty()) throw Error(ErrorKind::data, path + ": expected a class name on each line, got none");
    return names;
}

void refuse_from(const Flags& flags) {
    if (flags.given("--from"))
        throw Error(ErrorKind::usage, "give RUN with --to FORMAT, or --from FILE with --to PATH, not both");
}

}  // namespace

std::vector<Flag> run_flags() {
    return {
        {"RUN", "", "a run's folder, one of its checkpoints, or weights that `inference` reads; with --to FORMAT"},
        {"OUT", "", "file (onnx) or folder to write; without it, model.onnx or a folder next to the checkpoint"},
        {"--to", "",
         "needed. With RUN: onnx, torchvision, timm, tf or hf. With --from: file to write, or folder (with / at its "
         "end) "
         "for a model.safetensors"},
        {kWeightFlags, "",
         "onnx: f32 (default), f16 (computed in float16, too) or bf16 (stored so, computed in float32)"},
        toggle("--probabilities", "onnx: a second output with the softmax of the logits, or sigmoid"),
        toggle(kPreparationFlags, "onnx: reads photos of any size, uint8 [N,H,W,3]; prepares them"),
        {"--class-names", "", "of RUN: file with the name of a class on each line, instead of the run's names"},
        {"--data-dir", "", "of RUN: data whose samples the file is compared on; without it, the run's"},
        rare({"--dataset", "", "of RUN: kind of this data"}),
        toggle("--ema", "of RUN: the moving averages of the weights")};
}

void refuse_format_of_file(const Flags& flags) {
    if (flags.given("--to") && is_format(flags.text("--to"))) {
        const std::string& name = flags.text("--to");
        throw Error(ErrorKind::usage, "--to " + name + " is a format and needs a run: cnntrain convert RUN --to " +
                                          name + ". With --from, --to is a path; a file of this name is ./" + name);
    }
    for (const std::string_view option : kOnlyOfRuns) {
        if (flags.given(option))
            throw Error(ErrorKind::usage, std::string(option) + " is for cnntrain convert RUN --to FORMAT");
    }
}

int convert_run(const Flags& flags) {
    refuse_from(flags);
    weights::ExportRequest request{.format = format_of(flags)};
    refuse_without_effect(flags, request.format);
    weights::best_or_latest(posix_files(), "RUN", flags.text("RUN"));  // says so if there is none
    request.weights = weights_of(flags);
    request.target = flags.given("OUT") ? flags.text("OUT") : "";
    request.probabilities = flags.given("--probabilities");
    request.preparation = flags.given(kPreparationFlags);
    request.in_f32 = flags.wants_f32();
    if (flags.given("--class-names")) request.class_names = names_in(flags.text("--class-names"));
    request.version = run::version_line();
    request.overwrite = flags.given("--overwrite");
    tasks::OpenRequest source = source_of(flags);
    source.compares = request.format != weights::Format::onnx;
    tasks::TrainedNetwork network(posix_files(), source);
    const weights::ExportedNetwork exported = network.exported(posix_files());
    const weights::ExportReport report = weights::export_network(request, exported, posix_files());
    std::cout << exported.checkpoint << " -> " << joined(report.paths) << " (" << report.what << ")\n";
    if (report.difference) std::cout << compared_text(exported.samples, *report.difference);
    return 0;
}

// ---- RUN --to hf ----

bool wants_hugging_face(const Flags& flags) {
    return flags.given("--to") && flags.text("--to") == kHuggingFace;
}

weights::Found checkpoint_of_run(const Flags& flags) {
    refuse_from(flags);
    for (const std::string_view option :
         {kWeightFlags, "--probabilities", kPreparationFlags, "--class-names", "--ema", "--part"})
        refuse_if(flags.given(option), option, "has no effect on --to hf");
    return weights::best_or_latest(posix_files(), "RUN", flags.text("RUN"));
}

std::unique_ptr<tasks::TrainedNetwork> open_run(const Flags& flags, const weights::Checkpoint& source) {
    tasks::OpenRequest request = source_of(flags);
    const bool reads_texts = !weights::class_names(source.metadata).empty();
    if (reads_texts && flags.given("--vocab-file"))
        request.options.insert(request.options.end(), {"--vocab-file", flags.text("--vocab-file")});
    return std::make_unique<tasks::TrainedNetwork>(posix_files(), request);
}

std::string hugging_face_target(const Flags& flags, const std::string& checkpoint) {
    std::string folder = folder_part(checkpoint) + std::string(kHuggingFace) + "/";
    if (flags.given("OUT")) folder = without_trailing_slashes(flags.text("OUT")) + "/";
    return folder + "model.safetensors";
}

void refuse_for_hugging_face(const weights::Checkpoint& source, const std::string& path) {
    if (source.tensors.contains("bert/embeddings/word_embeddings")) return;
    throw Error(ErrorKind::unsupported,
                path + ": --to hf is for BERT's checkpoints of this program; " +
                    (weights::is_hugging_face(source) ? "this one is in the layout of transformers already"
                                                      : "--to onnx, timm and torchvision are for image networks"));
}

std::string write_compared(tasks::TrainedNetwork& network, const std::vector<std::string>& paths,
                           const weights::Converted& written, const std::map<std::string, HostTensor>& variables,
                           const std::function<void(FileSystem&)>& write) {
    const std::string& path = paths.front();
    const weights::ImportSettings settings{.variables = written.variables, .sizes = written.sizes};
    std::size_t equal = 0;
    const auto read_back = [&](const FileSystem& memory) {
        weights::Checkpoint read = weights::load(memory, path);
        for (const auto& [name, tensor] : weights::from_hugging_face(read, settings, path).checkpoint.tensors) {
            const auto found = variables.find(name);
            if (found == variables.end() || weights::difference(found->second, tensor) != 0)
                throw Error(ErrorKind::data, "the file would have another " + name + " than the run");
            ++equal;
        }
        return network.answers(std::move(read), path);
    };
    const double apart = weights::write_if_same(posix_files(), paths, network.outputs(), write, read_back);
    return "Read back: " + std::to_string(equal) + " variables, all equal to the run's\n" +
           compared_text(network.samples_text(), apart);
}

}  // namespace cnntrain::cli
