// A trained network, opened to be exported: its graph in 32 bits, its weights, and what it answers on some samples.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/io.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/exports/onnx_model.h"
#include "cnntrain/tasks/image_network.h"
#include "cnntrain/train/task.h"

namespace cnntrain::exports {

/// Samples with which a written file is compared: the network's inputs and outputs by name, N samples each. Images are
/// [N,H,W,C].
struct Replay {
    std::int64_t samples = 0;
    std::map<std::string, HostTensor> inputs;
    std::map<std::string, HostTensor> outputs;
    std::vector<HostTensor> photos = {};  // u8 [H,W,3]: of these the inputs were made; empty: they are samples
};

/// Number of samples of a replay, if there are as many.
inline constexpr std::int64_t kReplayedSamples = 64;

struct OpenRequest {
    std::string run;                        // a run's folder, one of its checkpoints, or a file of weights
    std::vector<std::string> options = {};  // of `inference`, that win over the run's
    bool photos = false;                    // the replay has photos, for a file that prepares them itself
};

class TrainedNetwork {
public:
    /// Error(usage, data, not_found) as `inference --restore-path` has it.
    TrainedNetwork(const FileSystem& files, const OpenRequest& request);
    ~TrainedNetwork();
    TrainedNetwork(const TrainedNetwork&) = delete;
    TrainedNetwork& operator=(const TrainedNetwork&) = delete;

    const std::string& checkpoint() const { return checkpoint_; }  // path of the file
    NetworkPart part() const { return {*graph_, inputs_, fixed_, outputs_, variables_}; }
    const std::map<std::string, HostTensor>& variables() const { return variables_; }
    const Replay& replay() const { return replay_; }
    /// "samples of the validation set", "generated photos"
    const std::string& samples_text() const { return samples_text_; }
    std::optional<tasks::ImageNetwork> image_network() const { return tasks::image_network(*arguments_); }
    std::vector<std::string> class_names() const;
    const backend::Backend& backend() const { return *backend_; }
    const config::ParseResult& arguments() const { return *arguments_; }

    /// The tensors of the checkpoint as they are stored, with the optimiser's; with --ema the moving averages.
    checkpoint::Checkpoint stored(const FileSystem& files) const;

    /// The outputs on the replayed samples of the same network with other weights, in any layout that is read here.
    /// `path`: for messages.
    std::map<std::string, HostTensor> answers(checkpoint::Checkpoint weights, const std::string& path);

private:
    void parse(const OpenRequest& request, bool made_up);
    void make_task(const std::vector<std::string>& words);
    void parse_pretraining(const std::string& run, const FileSystem& files);
    void open_classifier(const OpenRequest& request);
    /// Error(data) if the samples cannot be read.
    void open_samples();
    void make_up_samples();
    /// Replaces the samples by photos of them, or by made-up photos.
    void open_photos(const FileSystem& files);
    bool image_network_or_none() const;
    void find_ports();
    void find_scores();
    void load(const FileSystem& files);
    std::map<std::string, HostTensor> answers();

    std::unique_ptr<config::ParseResult> arguments_;
    std::unique_ptr<backend::Backend> backend_;
    std::unique_ptr<train::Task> task_;
    std::string checkpoint_;
    std::string samples_text_;
    std::vector<data::Field> fields_;
    std::vector<std::vector<HostTensor>> batches_;  // of the stream, by field
    std::vector<std::string> sample_files_;         // of the replayed samples, if they have files of their own
    std::unique_ptr<graph::Graph> graph_;
    std::unique_ptr<backend::Executable> executable_;
    std::map<std::string, HostTensor> variables_;
    std::vector<Port> inputs_;
    std::vector<FixedInput> fixed_;
    std::vector<Port> outputs_;
    Replay replay_;
};

}  // namespace cnntrain::exports
