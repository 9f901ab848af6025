// A checkpoint file that is read tensor by tensor, for programs that look at many of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/weights/weights_file.h"

namespace cnntrain::weights {

class CheckpointFile {
public:
    /// Reads the header. Error(data) names the file and what is wrong with it.
    CheckpointFile(const FileSystem& files, const std::string& path, Edited edited = Edited::refused);

    const std::string& path() const { return file_->path(); }
    std::int64_t iteration() const { return iteration_; }  // -1: the file does not say
    double epoch() const { return epoch_; }
    const std::map<std::string, std::string>& metadata() const { return metadata_; }  // the writer's own keys

    /// Names of the tensors, in the order of the file.
    const std::vector<std::string>& names() const { return names_; }
    const TensorDesc& desc(const std::string& name) const;
    /// Error(unsupported) when the tensor does not fit into this machine's memory.
    HostTensor read(const std::string& name) const;
    /// Error(unsupported) when all tensors together do not fit.
    void check_memory() const;

    /// Error(data) unless `crc`, the CRC-32C of all tensors, equals the saved one. A file without one is accepted.
    void check_crc(std::uint32_t crc) const;
    /// Reads everything once and checks it.
    void verify() const;

private:
    struct Place {
        TensorDesc desc;
        std::uint64_t offset = 0;  // within the file
    };
    friend class HeaderReader;
    const Place& place(const std::string& name) const;

    std::unique_ptr<InputFile> file_;
    Edited edited_;
    std::int64_t iteration_ = -1;
    double epoch_ = 0;
    std::map<std::string, std::string> metadata_;
    std::optional<std::uint32_t> crc_;
    std::vector<std::string> names_;
    std::map<std::string, Place> places_;
};

}  // namespace cnntrain::weights
