// The JPEG files of a folder, for running a trained net on them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"

namespace cnntrain::data {

/// Every .jpg and .jpeg file (any case) in and below a folder, following links and without hidden ones, sorted by path;
/// evaluation preprocessing; no labels. Files that cannot be decoded are left out and told, or Error(data) if `strict`.
/// Feed it to a Loader with Feed::passes: sample i of the pass is names()[i].
class ImageFolder final : public Dataset {
public:
    /// Error(data) when the folder cannot be read or has no JPEG file.
    ImageFolder(const std::string& folder, std::int64_t image_size, const PixelFormat& format, bool strict = false);
    ~ImageFolder() override;

    const std::vector<std::string>& names() const { return names_; }  // relative to the folder
    /// The folder's other files, counted by extension: "3 .png, 1 .webp"; "" when there are none.
    const std::string& left_out() const { return left_out_; }

    std::int64_t size() const override { return static_cast<std::int64_t>(names_.size()); }
    std::vector<Field> fields() const override;
    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const override;
    void pad(SampleView out) const override;
    std::int64_t damaged() const override;

private:
    class Images;

    std::vector<std::string> names_;
    std::string left_out_;
    std::unique_ptr<const Images> images_;  // reads names_
};

}  // namespace cnntrain::data
