#include "ipu_emulator/lowering/products.h"

#include <poplin/ConvPreplan.hpp>

#include "ipu_emulator/numerics/random.h"

namespace ipu_emulator {
namespace {

PartialPolicy policy(const poplar::OptionFlags& options, poplar::Type input) {
    number_option(options, "availableMemoryProportion", 0.6);
    choice_option(options, "partialsType.interTile", {"float", "half"});
    choice_option(options, "partialsType.interIPU", {"float", "half"});
    for (const char* name : {"use128BitConvUnitLoad", "enableMultiStageReduce", "enableFastReduce", "remapOutputTensor",
                             "enableSingleInputReduce", "enableConvDithering", "gatherConvOutput", "gatherOutput",
                             "inputRHSIsPreArranged"})
        bool_option(options, name, false);
    const bool half = choice_option(options, "partialsType", {"float", "half"}) == "half";
    const bool nearest = bool_option(options, "disableSRForAMPVertices", false);
    return {.half = half && input == poplar::HALF, .stochastic = !nearest};
}

}  // namespace

PartialPolicy conv_policy(const poplar::OptionFlags& options, poplar::Type input) {
    check_options("poplin: options of a convolution", options,
                  {"availableMemoryProportion", "partialsType", "partialsType.interTile", "partialsType.interIPU",
                   "pass", "use128BitConvUnitLoad", "enableMultiStageReduce", "enableFastReduce",
                   "enableSingleInputReduce", "remapOutputTensor", "enableConvDithering", "gatherConvOutput",
                   "disableSRForAMPVertices", "planConstraints", "planConstraintsOutputFilename"});
    choice_option(options, "pass",
                  {"NONE", "NONE_MATMUL", "INFERENCE_FWD", "TRAINING_FWD", "TRAINING_BWD", "TRAINING_WU",
                   "FC_INFERENCE_FWD", "FC_TRAINING_FWD", "FC_TRAINING_BWD", "FC_TRAINING_WU"});
    return policy(options, input);
}

PartialPolicy matmul_policy(const poplar::OptionFlags& options, poplar::Type input) {
    check_options("poplin: options of a matrix product", options,
                  {"availableMemoryProportion", "partialsType", "partialsType.interTile", "partialsType.interIPU",
                   "fullyConnectedPass", "inputRHSIsPreArranged", "use128BitConvUnitLoad", "enableMultiStageReduce",
                   "enableFastReduce", "remapOutputTensor", "enableConvDithering", "gatherOutput",
                   "disableSRForAMPVertices", "planConstraints"});
    choice_option(options, "fullyConnectedPass",
                  {"NONE", "INFERENCE_FWD", "TRAINING_FWD", "TRAINING_BWD", "TRAINING_WU"});
    return policy(options, input);
}

std::string options_text(const poplar::OptionFlags& options) {
    std::string text;
    for (const auto& [name, value] : options)
        text += name + "=" + value + ";";
    return text;
}

void note_plan(poplin::PlanningCache* cache, const poplin::ConvParams& params, const poplar::OptionFlags& options,
               const std::string& what) {
    if (cache == nullptr) return;
    std::string key = what + params.inputType.toString() + ">" + params.outputType.toString();
    const auto add = [&](const auto& values) {
        key += "|";
        for (const auto value : values)
            key += std::to_string(value) + ",";
    };
    add(std::vector<std::size_t>{params.batchSize, params.numConvGroups, params.inputChannelsPerGroup,
                                 params.outputChannelsPerGroup});
    add(params.inputFieldShape);
    add(params.kernelShape);
    for (const auto* t : {&params.inputTransform, &params.kernelTransform}) {
        for (const auto* list :
             {&t->truncationLower, &t->truncationUpper, &t->dilation, &t->paddingLower, &t->paddingUpper})
            add(*list);
        add(t->flip);
    }
    const auto& t = params.outputTransform;
    for (const auto* list : {&t.truncationLower, &t.truncationUpper, &t.stride, &t.paddingLower, &t.paddingUpper})
        add(*list);
    Access::keys(*cache).keys.insert(key + options_text(options));
}

ProductRounding product_rounding(OpRun& run, const PartialPolicy& policy, std::size_t first) {
    ProductRounding rounding{.overflow = run.control().overflow()};
    if (!policy.half) return rounding;
    rounding.partials = PartialRounding::nearest;
    if (policy.stochastic && run.control().stochastic) {
        rounding.partials = PartialRounding::stochastic;
        rounding.key = mix(run.key(run.write().regions().span_of(first).tile), first);
    }
    return rounding;
}

const float* pack_columns(OpRun& run, const Columns& c) {
    const std::size_t panels = (c.columns + kPanel - 1) / kPanel;
    auto* packed = run.scratch<float>(c.groups * panels * c.depth * kPanel);
    run.parallel(c.groups * panels, [&](std::size_t task) {
        const std::size_t first = task % panels * kPanel;
        const std::size_t columns = std::min(kPanel, c.columns - first);
        const float* from = c.from + task / panels * c.group_stride + first;
        float* to = packed + task * c.depth * kPanel;
        for (std::size_t k = 0; k < c.depth; ++k, from += c.row_stride, to += kPanel) {
            std::copy_n(from, columns, to);
            std::fill(to + columns, to + kPanel, 0.0f);
        }
    });
    return packed;
}

ProductResult make_update(HostOp& op, const poplar::Tensor& result, const std::vector<poplar::Tensor>& scale,
                          float number) {
    op.reads.push_back(result);
    for (const poplar::Tensor& t : scale) {
        require(t.numElements() == 1 && is_float(t.elementType()), op.name, "the scale is a scalar of half or float");
        op.reads.push_back(t);
    }
    return {true, number, !scale.empty()};
}

void store_product(OpRun& run, const ProductResult& how, std::size_t first, std::size_t count, float* values) {
    if (how.update) {
        LocalScratch local;
        const float scale = how.number * (how.scaled ? run.read(3).scalar() : 1.0f);
        float* old = local.take<float>(count);
        run.read(2).load(first, count, old);
        for (std::size_t i = 0; i < count; ++i)
            values[i] = old[i] + scale * values[i];
    }
    run.write().store(first, count, values);
}

float* zeroed(OpRun& run, std::size_t count) {
    auto* values = run.scratch<float>(count);
    std::fill_n(values, count, 0.0f);
    return values;
}

}  // namespace ipu_emulator

namespace poplin {

PlanningCache::PlanningCache() : keys_(std::make_unique<ipu_emulator::PlanKeys>()) {}
PlanningCache::~PlanningCache() = default;

std::size_t PlanningCache::size() const {
    return keys_->keys.size();
}

}  // namespace poplin
