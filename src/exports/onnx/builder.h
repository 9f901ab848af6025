// Appends nodes and constants to an ONNX model: names, element types, and constants that several nodes share.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/exports/onnx_export.h"

namespace cnntrain::exports {

class OnnxBuilder {
public:
    OnnxBuilder(OnnxModel& model, OnnxWeights weights) : model_(model), weights_(weights) {}

    /// Returns the name of the result.
    std::string add(std::string_view op, const std::string& name, std::vector<std::string> inputs,
                    std::map<std::string, OnnxAttribute> attributes = {});
    /// The same with the result's name given, which must be free.
    void add_named(std::string_view op, const std::string& result, std::vector<std::string> inputs,
                   std::map<std::string, OnnxAttribute> attributes = {});
    /// A constant in the types of these weights; f32 or an integer type.
    std::string weight(const std::string& name, const HostTensor& tensor);
    /// A constant as it is.
    std::string stored(const std::string& name, const HostTensor& tensor);
    /// A number in the type in which the model computes.
    std::string number(double value);
    std::string integers(const std::string& name, const std::vector<std::int64_t>& values);

    DType compute_type() const { return weights_ == OnnxWeights::f16 ? DType::f16 : DType::f32; }
    /// ONNX's number of compute_type(), for Cast.
    std::int64_t compute_number() const;
    bool computes_in_f32() const { return compute_type() == DType::f32; }
    void reserve(const std::string& name) { names_.insert(name); }

private:
    std::string free_name(const std::string& wanted);

    OnnxModel& model_;
    OnnxWeights weights_;
    std::set<std::string> names_;
    std::map<double, std::string> numbers_;
};

inline constexpr const char* kOnnxBatch = "batch";  // name of the number of samples
inline constexpr std::int64_t kOnnxFloat = 1;
inline constexpr std::int64_t kOnnxInt64 = 7;
inline constexpr std::int64_t kOnnxFloat16 = 10;

}  // namespace cnntrain::exports
